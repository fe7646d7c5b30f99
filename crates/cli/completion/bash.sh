# bash completion for kubectl-argo-rollouts

__kubectl_argo_rollouts_complete() {
    local answer directive line
    COMPREPLY=()
    answer=$(kubectl-argo-rollouts __completeNoDesc "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null) || return
    directive=${answer##*:}
    while IFS= read -r line; do
        [[ -n $line && $line != :* ]] && COMPREPLY+=("$line")
    done <<<"$answer"
    if (( directive & 2 )); then
        compopt -o nospace 2>/dev/null
    fi
    if (( ${#COMPREPLY[@]} == 0 && (directive & 5) == 0 )); then
        compopt -o default 2>/dev/null
    fi
}

complete -F __kubectl_argo_rollouts_complete kubectl-argo-rollouts
