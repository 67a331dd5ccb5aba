# SPDX-License-Identifier: GPL-2.0-only
# bash completion for perf-latency: commands, and the options that `perf-latency CMD --help` names.
_perf_latency() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]}
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    # The help prints one command a line, two spaces in.
    mapfile -t COMPREPLY < <(compgen -W "$(perf-latency --help 2> /dev/null |
      sed -nE 's/^  ([a-z][a-z-]+)  .*/\1/p') --help --version" -- "$current")
    return
  fi
  case $previous in
    -i | -o | --input | --output | --kallsyms | --vmlinux)
      mapfile -t COMPREPLY < <(compgen -f -- "$current")
      return
      ;;
    --symfs)
      mapfile -t COMPREPLY < <(compgen -d -- "$current")
      return
      ;;
    --format)
      mapfile -t COMPREPLY < <(compgen -W "text json csv folded latency_stats timehist lock_stat lkp" -- "$current")
      return
      ;;
  esac
  case $current in
    -*)
      mapfile -t COMPREPLY < <(compgen -W "$(perf-latency "$command" --help 2> /dev/null |
        grep -oE '(^|[ ,[|])--?[a-zA-Z][a-zA-Z-]*' | grep -oE -- '--?[a-zA-Z][a-zA-Z-]*' | sort -u)" -- "$current")
      ;;
    *) mapfile -t COMPREPLY < <(compgen -f -- "$current") ;;
  esac
}
complete -o filenames -F _perf_latency perf-latency
