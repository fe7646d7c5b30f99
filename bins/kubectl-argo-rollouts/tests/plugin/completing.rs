//! Completion: what a shell is offered, and the scripts that make it ask, in the shells themselves.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;

use crate::world::{World, canary, steps};

#[test]
fn shells_are_offered_commands_flags_and_names() {
    let world = World::new();
    world.rollout(&canary("shop", steps(), json!({})));
    world.rollout(&canary("web", steps(), json!({})));
    let no_files = "Completion ended with directive: ShellCompDirectiveNoFileComp\n";
    world.says(&["__complete", "promote", ""], 0, "shop\nweb\n:4\n", no_files);
    world.says(&["__complete", "-n", "default", "get", "ro", "s"], 0, "shop\n:4\n", no_files);
    world.says(&["__complete", "promote", "shop", ""], 0, ":4\n", no_files);
    world.says(&["__completeNoDesc", "retry", ""], 0, "rollout\nexperiment\n:4\n", no_files);
    world.says(&["__completeNoDesc", "promote", "--fu"], 0, "--full\n:4\n", no_files);
    world.says(&["__completeNoDesc", "get", "rollout", "x", "-o", ""], 0, "json\nyaml\nname\nwide\n:4\n", no_files);
    let output = world.run(&["__complete", "ab"]);
    let abort = "abort\tStop an update and go back to the stable version\n:4\n";
    assert_eq!(String::from_utf8_lossy(&output.stdout), abort);
    let failed = "Completion ended with directive: ShellCompDirectiveError\n";
    world.says(&["__complete", "--server", "http://127.0.0.1:1", "abort", ""], 0, ":1\n", failed);
}

#[test]
fn completion_scripts_are_printed_for_four_shells() {
    let world = World::new();
    for shell in ["bash", "zsh", "fish", "powershell"] {
        let output = world.run(&["completion", shell]);
        assert_eq!(output.status.code(), Some(0));
        assert!(String::from_utf8_lossy(&output.stdout).contains("__complete"), "{shell}");
    }
    world.says(&["completion"], 1, "", "Error: accepts 1 arg(s), received 0\n");
    world.says(&["completion", "a", "b"], 1, "", "Error: accepts 1 arg(s), received 2\n");
    world.says(
        &["completion", "tcsh"],
        1,
        "",
        "Error: invalid argument \"tcsh\" for \"kubectl-argo-rollouts completion\"\n",
    );
    assert_eq!(world.asked(), []);
}

/// Where a shell is, if it is at all.
fn shell(name: &str) -> Option<PathBuf> {
    ["/bin", "/usr/bin", "/usr/local/bin"].iter().map(|folder| Path::new(folder).join(name)).find(|path| path.exists())
}

/// Runs a line of a shell with our program on its path.
fn told(world: &World, shell: &Path, line: &str) -> String {
    let program = Path::new(env!("CARGO_BIN_EXE_kubectl-argo-rollouts"));
    let output = Command::new(shell)
        .args(["-c", line])
        .env("PATH", format!("{}:/usr/bin:/bin", program.parent().unwrap().display()))
        .env("KUBECONFIG", world.kubeconfig())
        .env("HOME", world.kubeconfig().parent().unwrap())
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{}", shell.display());
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn bash_completes_with_the_script() {
    let world = World::new();
    world.rollout(&canary("shop", steps(), json!({})));
    let line = "source <(kubectl-argo-rollouts completion bash); COMP_WORDS=(kubectl-argo-rollouts promote s); COMP_CWORD=2; \
                __kubectl_argo_rollouts_complete; echo \"${COMPREPLY[@]}\"";
    assert_eq!(told(&world, &shell("bash").unwrap(), line), "shop\n");
}

#[test]
fn zsh_and_fish_complete_with_their_scripts_wherever_they_are_installed() {
    let world = World::new();
    world.rollout(&canary("shop", steps(), json!({})));
    world.rollout(&canary("site", steps(), json!({})));
    // The functions of zsh that a script relies on are those of its completion system; these stand for them.
    let zsh = "compdef() { :; }; _describe() { print -l -- \"${(@P)2}\"; }; _files() { print files; }; \
               source =(kubectl-argo-rollouts completion zsh); words=(kubectl-argo-rollouts promote s); CURRENT=3; _kubectl-argo-rollouts; \
               words=(kubectl-argo-rollouts und); CURRENT=2; _kubectl-argo-rollouts";
    if let Some(shell) = shell("zsh") {
        assert_eq!(told(&world, &shell, zsh), "shop\nsite\nundo:Restore an earlier pod template\n");
    }
    let fish = "kubectl-argo-rollouts completion fish | source; complete -C 'kubectl-argo-rollouts promote s'; \
                complete -C 'kubectl-argo-rollouts und'";
    if let Some(shell) = shell("fish") {
        assert_eq!(told(&world, &shell, fish), "shop\nsite\nundo\tRestore an earlier pod template\n");
    }
    // Where they are not, the scripts ask the program for everything: the words typed so far and the unfinished one.
    for (shell, asks) in [
        ("zsh", "kubectl-argo-rollouts __complete \"${(@)words[2,CURRENT]}\""),
        ("fish", "kubectl-argo-rollouts __complete $words[2..-1] \"$unfinished\""),
        ("powershell", "& kubectl-argo-rollouts __complete @typed \"$wordToComplete\""),
    ] {
        let script = String::from_utf8(world.run(&["completion", shell]).stdout).unwrap();
        assert!(script.contains(asks), "{script}");
        let count = |sign: char| script.chars().filter(|found| *found == sign).count();
        assert_eq!((count('{'), count('(')), (count('}'), count(')')), "{shell}");
    }
}

#[test]
fn kubectl_is_answered_under_the_name_it_asks_for() {
    let world = World::new();
    world.rollout(&canary("shop", steps(), json!({})));
    let link = world.kubeconfig().with_file_name("kubectl_complete-argo-rollouts");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_kubectl-argo-rollouts"), &link).unwrap();
    let output = Command::new(link).args(["promote", "s"]).env_clear().env("KUBECONFIG", world.kubeconfig()).output();
    assert_eq!(String::from_utf8_lossy(&output.unwrap().stdout), "shop\n:4\n");
}
