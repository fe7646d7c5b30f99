# fish completion for kubectl-argo-rollouts

function __kubectl_argo_rollouts_complete
    set -l words (commandline -opc)
    set -l unfinished (commandline -ct)
    kubectl-argo-rollouts __complete $words[2..-1] "$unfinished" 2>/dev/null | string match -v ':*'
end

complete -c kubectl-argo-rollouts -f -a '(__kubectl_argo_rollouts_complete)'
complete -c kubectl-argo-rollouts -s f -l filename -r -F
complete -c kubectl-argo-rollouts -l kubeconfig -r -F
