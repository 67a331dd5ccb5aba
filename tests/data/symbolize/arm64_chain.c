// SPDX-License-Identifier: GPL-2.0-only
// The program behind arm64_chain (ELF) and arm64_chain.sample (registers x0 … x30, sp, pc as 33 u64, then
// 256 bytes from the stack pointer on), taken at the system call in leaf().
//   aarch64-linux-gnu-gcc -O1 -g0 -static -nostdlib -fomit-frame-pointer -mbranch-protection=pac-ret \
//       -Wl,-z,max-page-size=4096 -o arm64_chain arm64_chain.c
//   qemu-aarch64 -cpu max -g 1234 ./arm64_chain
// Return addresses are signed (pac-ret); no function keeps a frame pointer.
static long write_nothing(long seed) {
  register long number asm("x8") = 64;
  register long fd asm("x0") = 1;
  register const char* text asm("x1") = "";
  register long size asm("x2") = 0;
  asm volatile("svc 0" : "+r"(fd) : "r"(number), "r"(text), "r"(size) : "memory");
  return fd + seed;
}

__attribute__((noinline)) static long leaf(volatile long* at) { return *at + write_nothing(*at); }

__attribute__((noinline)) static long middle(long depth) {
  volatile long kept[5] = {depth, depth + 1, depth + 2, depth + 3, depth + 4};
  return leaf(&kept[depth]) + kept[2];
}

__attribute__((noinline)) static long outer(long depth) {
  long sum = 0;
  for (long i = 0; i < depth; ++i) sum += middle(i) ^ sum;
  return sum;
}

void _start(void) {
  register long number asm("x8") = 93;
  register long status asm("x0") = outer(3) & 1;
  asm volatile("svc 0" : : "r"(number), "r"(status));
  __builtin_unreachable();
}
