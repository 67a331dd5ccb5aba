# SPDX-License-Identifier: GPL-2.0-only
# bash completion for perf-latency: commands, options, event sets, keys of rows and columns. All of it
# is what the program itself says, so that nothing here grows old.

# The program, without the user's configuration and without a recording that could be read.
_perf_latency_ask() {
  PERF_CONFIG=/dev/null perf-latency "$@" 2>&1 < /dev/null
}

_perf_latency_commands() {
  _perf_latency_ask --help | sed -nE 's/^   ([a-z][a-z-]*) +[A-Z].*/\1/p'
}

_perf_latency_options() {
  _perf_latency_ask "$1" --help | sed -nE 's/^  (-[^ ]*).*/\1/p' | tr , '\n'
}

# What may stand behind an option of this command: the message about a wrong one lists it.
_perf_latency_allowed() {
  _perf_latency_ask "$1" -i /dev/null "${@:3}" "$2" '?' |
    sed -nE 's/.*(is none of|; there are) //p' | tr -d ' ' | tr , '\n'
}

_perf_latency_formats() {
  _perf_latency_ask "$1" --help | sed -nE 's/^  --format [^ ]+ +(Output format: )?//p' |
    sed 's/ or /,/g' | tr -d ' ' | tr , '\n'
}

# Completes the last item of a list with commas; a sort key may have a '-' before it.
_perf_latency_list() {
  local done= item=$current sign=
  if [[ $current == *,* ]]; then done=${current%,*}, item=${current##*,}; fi
  if [[ $item == -* && $1 == sort ]]; then sign=- item=${item#-}; fi
  mapfile -t COMPREPLY < <(compgen -P "$done$sign" -W "$2" -- "$item")
}

_perf_latency_words() {
  mapfile -t COMPREPLY < <(compgen -W "$1" -- "$current")
}

# The value of an option that was given before, else the second argument.
_perf_latency_given() {
  local i
  for ((i = 2; i < COMP_CWORD; i++)); do
    case ${COMP_WORDS[i]} in
      "$1") [ "${COMP_WORDS[i + 1]}" = '=' ] && ((i++)); echo "${COMP_WORDS[i + 1]}"; return ;;
    esac
  done
  echo "$2"
}

_perf_latency() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]}
  local first=1 report by
  COMPREPLY=()
  if [ "$command" = --no-pager ]; then command=${COMP_WORDS[2]} first=2; fi
  if [ "$COMP_CWORD" -le "$first" ]; then
    _perf_latency_words "$(_perf_latency_commands) help --help --version --no-pager"
    return
  fi
  # bash splits --option=value into three words.
  if [ "$current" = '=' ]; then
    current=
  elif [ "$previous" = '=' ]; then
    previous=${COMP_WORDS[COMP_CWORD - 2]}
  fi
  if [ "$command" = help ]; then
    _perf_latency_words "$(_perf_latency_commands)"
    return
  fi
  report=$command
  if [ "$command" = diff ]; then report=$(_perf_latency_given --of report); fi
  case $command:$previous in
    record:-e | record:--event)
      _perf_latency_list event "$(_perf_latency_ask record --list | sed -nE 's/^([a-z][a-z_]*) .*/\1/p')"
      return ;;
    record:-k | record:--clockid)
      _perf_latency_words 'monotonic monotonic_raw realtime boottime tai perf'
      return ;;
    record:--call-graph) _perf_latency_words 'fp dwarf'; return ;;
    record:-G | record:--cgroup)
      mapfile -t COMPREPLY < <(cd /sys/fs/cgroup 2> /dev/null && compgen -d -- "$current")
      return ;;
    *:-k | *:--key) _perf_latency_list sort 'contended acquired wait_total wait_max avg_wait'; return ;;
    diff:--measure)
      _perf_latency_words 'total count mean max p50 p95 p99 samples percent contended wait_total wait_max'
      return ;;
    diff:--of) _perf_latency_words 'report contention hold-time spin'; return ;;
    diff:--per) _perf_latency_words 'run second event'; return ;;
    *:--by) _perf_latency_list by "$(_perf_latency_allowed "$report" --by)"; return ;;
    *:--type) _perf_latency_list type "$(_perf_latency_allowed "$report" --type)"; return ;;
    diff:-[sF] | diff:--sort | diff:--fields)
      _perf_latency_list sort 'before change_percent after status marked mark'
      return ;;
    *:-[sF] | *:--sort | *:--fields)
      by=$(_perf_latency_given --by '')
      _perf_latency_list sort "$(_perf_latency_allowed "$report" --sort ${by:+--by "$by"})"
      return ;;
    *:--format) _perf_latency_words "$(_perf_latency_formats "$command")"; return ;;
    *:--color) _perf_latency_words 'always never auto'; return ;;
    *:--callchain) _perf_latency_words 'kernel user both'; return ;;
    *:--state) _perf_latency_list state 'S D all'; return ;;
    *:--symfs)
      mapfile -t COMPREPLY < <(compgen -d -- "$current")
      return ;;
    record:-[pt] | *:-[pt] | *:--pid | *:--tid)
      _perf_latency_list pid "$(ps -eo pid= 2> /dev/null | tr -d ' ')"
      return ;;
  esac
  case $current in
    -*) _perf_latency_words "$(_perf_latency_options "$command")" ;;
    *) mapfile -t COMPREPLY < <(compgen -f -- "$current") ;;
  esac
}
complete -o filenames -F _perf_latency perf-latency
