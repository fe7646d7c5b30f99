# powershell completion for kubectl-argo-rollouts

Register-ArgumentCompleter -Native -CommandName 'kubectl-argo-rollouts' -ScriptBlock {
    param($wordToComplete, $commandAst, $cursorPosition)
    $typed = @($commandAst.CommandElements | Select-Object -Skip 1 | ForEach-Object { "$_" })
    if ($wordToComplete -ne '' -and $typed.Count -gt 0) {
        $typed = @($typed | Select-Object -SkipLast 1)
    }
    & kubectl-argo-rollouts __complete @typed "$wordToComplete" 2>$null | ForEach-Object {
        if ($_ -and -not $_.StartsWith(':')) {
            $name, $description = $_ -split "`t", 2
            if (-not $description) { $description = $name }
            [System.Management.Automation.CompletionResult]::new($name, $name, 'ParameterValue', $description)
        }
    }
}
