/* fumi completion: scripts for shells, which ask the program what fits: fumi completion words. */
#include "app/complete.h"

static const char bash[] = "# bash completion for fumi: source <(fumi completion bash)\n"
                           "_fumi() {\n"
                           "    local line word\n"
                           "    COMPREPLY=()\n"
                           "    while IFS= read -r line; do\n"
                           "        printf -v word %q \"${line%%$'\\t'*}\"\n"
                           "        COMPREPLY+=(\"$word\")\n"
                           "    done < <(\"${COMP_WORDS[0]/#\\~/$HOME}\" completion words -- \\\n"
                           "        \"${COMP_WORDS[@]:1:COMP_CWORD}\" 2>/dev/null)\n"
                           "}\n"
                           "complete -o default -F _fumi fumi\n";

static const char zsh[] =
    "#compdef fumi\n"
    "_fumi() {\n"
    "  local -a values\n"
    "  local line\n"
    "  for line in ${(f)\"$(${words[1]} completion words -- \"${(@)words[2,CURRENT]}\" "
    "2>/dev/null)\"}; do\n"
    "    values+=(\"${${line%%$'\\t'*}//:/\\\\:}${${line#*$'\\t'}:+:${line#*$'\\t'}}\")\n"
    "  done\n"
    "  if (( $#values )); then\n"
    "    _describe value values\n"
    "  else\n"
    "    _files\n"
    "  fi\n"
    "}\n"
    "if [[ $funcstack[1] = _fumi ]]; then\n" /* loaded by the first completion */
    "  _fumi \"$@\"\n"
    "else\n"
    "  compdef _fumi fumi\n"
    "fi\n";

static const char fish[] =
    "# fish completion for fumi: fumi completion fish | source\n"
    "function __fumi_words\n"
    "    set -l found (fumi completion words -- (commandline -opc)[2..-1] (commandline -ct) "
    "2>/dev/null)\n"
    "    if test (count $found) -gt 0\n"
    "        printf '%s\\n' $found\n"
    "    else\n"
    "        __fish_complete_path (commandline -ct)\n"
    "    end\n"
    "end\n"
    "complete -c fumi -f -a '(__fumi_words)'\n";

static int completion(struct invocation *i)
{
    static const struct {
        const char *name, *script;
    } shells[] = {{"bash", bash}, {"zsh", zsh}, {"fish", fish}};
    struct fumi_str shell = i->words.n ? i->words.items[0] : FUMI_STR("");
    if (fumi_eq(shell, FUMI_STR("words"))) {
        complete_words(i->a, (struct fumi_strs){i->words.items + 1, i->words.n - 1});
        return STATUS_OK;
    }
    for (size_t k = 0; i->words.n == 1 && k < FUMI_COUNT(shells); k++) {
        if (fumi_eq(shell, fumi_str(shells[k].name))) {
            fputs(shells[k].script, stdout);
            return STATUS_OK;
        }
    }
    return command_misuse(i, "the shell must be bash, zsh or fish");
}

const struct command command_completion = {
    .name = "completion",
    .usage = "bash|zsh|fish",
    .help = "Prints a completion script for a shell.",
    .more = "bash: source <(fumi completion bash). zsh: write the script to a file _fumi in a "
            "directory of fpath. fish: write it to ~/.config/fish/completions/fumi.fish. "
            "Commands, flags and values are completed, also ids of notes, projects, groups, tags, "
            "settings and changes.",
    .bare = true,
    .words = ANY_WORDS,
    .output = OUTPUT_DATA,
    .run = completion,
};
