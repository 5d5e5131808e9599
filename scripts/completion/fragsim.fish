# fragsim.fish - completion for fish. The program itself knows what to offer:
# fragsim-complete(1).

function __fragsim_complete
    set -l words (commandline -opc)
    # the unfinished word, without its quotes where they can be taken off
    set -a words (string unescape -- (commandline -ct); or commandline -ct)
    set -l program (string replace -r '^~/' "$HOME/" -- $words[1])
    for line in (command $program complete -- $words[2..-1] 2>/dev/null)
        set -l fields (string split \t -- $line)
        switch $fields[1]
            case ':files'
                set -l rest (string sub -s (math 1 + (string length -- "$fields[2]")) -- $words[-1])
                for path in (__fish_complete_path "$rest")
                    echo $fields[2]$path
                end
            case ':open'
            case '*'
                echo $line
        end
    end
end

complete -c fragsim -f -a '(__fragsim_complete)'
