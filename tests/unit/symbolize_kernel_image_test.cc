// SPDX-License-Identifier: GPL-2.0-only
#include "symbolize/kernel_image.h"

#include <gtest/gtest.h>
#include <zlib.h>
#include <zstd.h>

#include "symbolize_elf_builder.h"

namespace perf_latency {
namespace {

const BuildId kId = BuildId::from_hex("aabbccddeeff00112233445566778899aabbccdd");
const BuildId kOtherId = BuildId::from_hex("0102030405060708090a0b0c0d0e0f1011121314");
constexpr uint64_t kLinked = 0xffffffff81000000;
constexpr uint64_t kRecorded = 0xffffffffa5200000;

constexpr std::string_view kKallsyms =
    "ffffffff81000000 T _text\n"
    "ffffffff81000100 T do_nanosleep\n"
    "ffffffff81002000 T _etext\n"
    "ffffffffc0000000 t ext4_get\t[ext4]\n";

std::vector<std::byte> vmlinux(const BuildId& id) {
  SymbolizeElfBuilder builder(ET_EXEC, EM_X86_64);
  const uint16_t text = builder.add_section(".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR,
                                            kLinked, std::string(0x200, '\x90'), 16);
  builder.add_symbol("_text", kLinked, 0, STT_NOTYPE, STB_GLOBAL, text);
  builder.add_symbol("do_nanosleep", kLinked + 0x100, 0x80, STT_FUNC, STB_GLOBAL, text);
  builder.set_build_id(id);
  return builder.build();
}

std::string notes(const BuildId& id) {
  std::string note("\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0", 16);
  note.append(reinterpret_cast<const char*>(id.bytes().data()), id.bytes().size());
  return note;
}

class SymbolizeKernelImage : public testing::Test {
 protected:
  SymbolizeKernelImage() {
    input_.map = KernelMap{kRecorded, 0x2000, kRecorded, "_text"};
    input_.build_id = kId;
    input_.os_release = "6.12.0-test";
    input_.symfs = dir_.path() + "/symfs";  // nothing of this machine
    input_.build_id_dirs = {dir_.path() + "/cache"};
    input_.running_kallsyms = dir_.path() + "/proc/kallsyms";
    input_.running_notes = dir_.path() + "/sys/notes";
  }
  std::string name_at(const Result<KernelImage>& image, uint64_t address) {
    if (!image) return image.error().what;
    const auto symbol = image->symbols.lookup(address);
    return symbol ? std::string(symbol->name) : "-";
  }
  std::string cache_dir() const {
    return "cache/.build-id/aa/bbccddeeff00112233445566778899aabbccdd/";
  }

  SymbolizeTempDir dir_;
  KernelImageInput input_;
};

TEST_F(SymbolizeKernelImage, ExplicitKallsymsIsMovedToTheRecordedAddress) {
  input_.kallsyms = dir_.write("k", kKallsyms);
  const auto image = find_kernel_image(input_);
  EXPECT_EQ(name_at(image, kRecorded + 0x110), "do_nanosleep");
  EXPECT_EQ(image->symbols.shift(), kRecorded - kLinked);
  EXPECT_EQ(image->source, dir_.path() + "/k (moved by 0x24200000)");
}

TEST_F(SymbolizeKernelImage, WithoutAKernelMapExplicitKallsymsIsTakenAsItIs) {
  input_.map.reset();
  input_.build_id = {};
  input_.kallsyms = dir_.write("k", kKallsyms);
  const auto image = find_kernel_image(input_);
  EXPECT_EQ(name_at(image, kLinked + 0x110), "do_nanosleep");
  EXPECT_EQ(name_at(image, 0xffffffffc0000004), "ext4_get");
}

TEST_F(SymbolizeKernelImage, ExplicitVmlinuxOfAnotherBuildIsRefusedUnlessForced) {
  input_.vmlinux = dir_.write("vmlinux", vmlinux(kOtherId));
  EXPECT_EQ(name_at(find_kernel_image(input_), 0), dir_.path() + "/vmlinux: its build id is " +
                                                       kOtherId.hex() +
                                                       ", the recorded kernel's is " + kId.hex());
  input_.force = true;
  EXPECT_EQ(name_at(find_kernel_image(input_), kRecorded + 0x110), "do_nanosleep");
}

TEST_F(SymbolizeKernelImage, TheBuildIdCacheHoldsKallsymsOrTheElfFile) {
  dir_.write(cache_dir() + "kallsyms", kKallsyms);
  EXPECT_EQ(name_at(find_kernel_image(input_), kRecorded + 0x110), "do_nanosleep");
  SymbolizeTempDir other;
  other.write(cache_dir() + "elf", vmlinux(kId));
  input_.build_id_dirs = {other.path() + "/cache"};
  EXPECT_EQ(name_at(find_kernel_image(input_), kRecorded + 0x110), "do_nanosleep");
  SymbolizeTempDir old;  // before perf 4.10 the link led to the file itself
  old.write("cache/[kernel.kallsyms]/" + kId.hex(), kKallsyms);
  input_.build_id_dirs = {old.path() + "/cache"};
  EXPECT_EQ(name_at(find_kernel_image(input_), kRecorded + 0x110), "do_nanosleep");
}

TEST_F(SymbolizeKernelImage, VmlinuxOfTheReleaseNeedsTheBuildIdWhereThereIsOne) {
  dir_.write("symfs/boot/vmlinux-6.12.0-test", vmlinux(kOtherId));
  EXPECT_FALSE(find_kernel_image(input_).has_value());
  dir_.write("symfs/usr/lib/debug/boot/vmlinux-6.12.0-test", vmlinux(kId));
  EXPECT_EQ(name_at(find_kernel_image(input_), kRecorded + 0x110), "do_nanosleep");
  input_.build_id = {};  // the first that fits the release
  EXPECT_EQ(name_at(find_kernel_image(input_), kRecorded + 0x110), "do_nanosleep");
}

TEST_F(SymbolizeKernelImage, SystemMapOnlyWhereNothingCanBeChecked) {
  dir_.write("symfs/boot/System.map-6.12.0-test", kKallsyms);
  EXPECT_FALSE(find_kernel_image(input_).has_value());
  input_.build_id = {};
  EXPECT_EQ(name_at(find_kernel_image(input_), kRecorded + 0x110), "do_nanosleep");
}

TEST_F(SymbolizeKernelImage, TheRunningKernelOnlyWithItsBuildId) {
  dir_.write("proc/kallsyms", kKallsyms);
  dir_.write("sys/notes", notes(kOtherId));
  const auto refused = find_kernel_image(input_);
  EXPECT_EQ(name_at(refused, 0),
            "no symbols of kernel 6.12.0-test (build id " + kId.hex() +
                ") here: the running kernel is another build; name a file with --kallsyms or "
                "--vmlinux");
  dir_.write("sys/notes", notes(kId));
  EXPECT_EQ(name_at(find_kernel_image(input_), kRecorded + 0x110), "do_nanosleep");
  input_.build_id = {};
  EXPECT_FALSE(find_kernel_image(input_).has_value());
}

TEST_F(SymbolizeKernelImage, HiddenAddressesAreSaidToBeSo) {
  input_.map->pgoff = 0;
  EXPECT_EQ(name_at(find_kernel_image(input_), 0),
            "the recording hides kernel addresses: record as root or with kernel.kptr_restrict=0");
  input_.map->pgoff = kRecorded;
  dir_.write("proc/kallsyms", "0000000000000000 T _text\n0000000000000000 t x\n");
  dir_.write("sys/notes", notes(kId));
  const auto image = find_kernel_image(input_);
  ASSERT_FALSE(image.has_value());
  EXPECT_NE(image.error().what.find("kptr_restrict hid them"), std::string::npos);
}

TEST_F(SymbolizeKernelImage, ModulesComeFromTheirFilesWhenAVmlinuxIsAllThereIs) {
  SymbolizeElfBuilder builder(ET_REL, EM_X86_64);
  const uint16_t text = builder.add_section(".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, 0,
                                            std::string(0x100, ' '), 16);
  builder.add_symbol("nft_do_chain", 0x20, 0x20, STT_FUNC, STB_GLOBAL, text);
  const auto module = builder.build();
  std::vector<std::byte> packed(ZSTD_compressBound(module.size()));
  packed.resize(ZSTD_compress(packed.data(), packed.size(), module.data(), module.size(), 1));
  dir_.write("symfs/lib/modules/6.12.0-test/kernel/net/nf-tables.ko.zst", packed);
  dir_.write("symfs/lib/modules/6.12.0-test/modules.dep",
             "kernel/fs/ext4.ko.zst:\nkernel/net/nf-tables.ko.zst: kernel/net/nfnetlink.ko.zst\n");
  input_.vmlinux = dir_.write("vmlinux", vmlinux(kId));
  const auto by_name = kernel_module_of_map("[nf_tables]", 0xffffffffc0a00000, 0x4000, {});
  ASSERT_TRUE(by_name.has_value());
  input_.modules = {*by_name};
  const auto image = find_kernel_image(input_);
  ASSERT_TRUE(image.has_value());
  const auto symbol = image->symbols.lookup(0xffffffffc0a00024);
  ASSERT_TRUE(symbol.has_value());
  EXPECT_EQ(symbol->name, "nft_do_chain");
  EXPECT_EQ(symbol->module, "nf_tables");
  EXPECT_EQ(symbol->start, 0xffffffffc0a00020);
  EXPECT_EQ(symbol->offset, 4u);
  EXPECT_EQ(name_at(image, 0xffffffffc0a04000), "-");
}

TEST_F(SymbolizeKernelImage, ModuleMapsAreNamedByModuleOrPath) {
  const auto by_path =
      kernel_module_of_map("/lib/modules/6.12/kernel/fs/nfs-acl.ko.xz", 0x1000, 16, {});
  ASSERT_TRUE(by_path.has_value());
  EXPECT_EQ(by_path->name, "nfs_acl");
  EXPECT_EQ(by_path->paths, std::vector<std::string>{"/lib/modules/6.12/kernel/fs/nfs-acl.ko.xz"});
  EXPECT_FALSE(kernel_module_of_map("[kernel.kallsyms]_text", 0x1000, 16, {}).has_value());
  EXPECT_FALSE(kernel_module_of_map("[ext4]", 0x1000, 0, {}).has_value());
  EXPECT_EQ(kernel_reference_symbol("[kernel.kallsyms]_stext"), "_stext");
  EXPECT_EQ(kernel_reference_symbol("[ext4]"), std::nullopt);
}

TEST_F(SymbolizeKernelImage, CompressedKallsymsAreUnpacked) {
  const std::string path = dir_.path() + "/k.gz";
  gzFile file = gzopen(path.c_str(), "wb");
  gzwrite(file, kKallsyms.data(), static_cast<unsigned>(kKallsyms.size()));
  gzclose(file);
  input_.kallsyms = path;
  EXPECT_EQ(name_at(find_kernel_image(input_), kRecorded + 0x110), "do_nanosleep");
  std::filesystem::resize_file(path, 40);
  EXPECT_NE(name_at(find_kernel_image(input_), 0).find("damaged gzip data"), std::string::npos);
}

}  // namespace
}  // namespace perf_latency
