#compdef kubectl-argo-rollouts
# zsh completion for kubectl-argo-rollouts

_kubectl-argo-rollouts() {
    local -a answer candidates
    local line directive=0
    answer=("${(@f)$(kubectl-argo-rollouts __complete "${(@)words[2,CURRENT]}" 2>/dev/null)}")
    for line in "${answer[@]}"; do
        if [[ $line == :* ]]; then
            directive=${line#:}
        elif [[ -n $line ]]; then
            candidates+=("${${line//:/\\:}/$'\t'/:}")
        fi
    done
    if (( ${#candidates} )); then
        _describe 'completions' candidates
    elif (( (directive & 5) == 0 )); then
        _files
    fi
}

if [[ $funcstack[1] == _kubectl-argo-rollouts ]]; then
    _kubectl-argo-rollouts
else
    compdef _kubectl-argo-rollouts kubectl-argo-rollouts
fi
