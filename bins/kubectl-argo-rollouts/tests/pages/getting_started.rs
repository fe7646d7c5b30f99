//! docs/getting-started.md

use crate::page::{control, play, prepared, repository};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_page_for_beginners_does_what_it_says() {
    let (testbed, reader) = prepared().await;
    let (mut commands, mut controllers) = (0, Vec::new());
    play("docs/getting-started.md", &reader, async |command| {
        commands += 1;
        // From here on there is a controller, on the page and here.
        if command.starts_with("helm install ") {
            controllers.push(control(&testbed).await);
        }
    })
    .await;
    assert!(commands > 15 && controllers.len() == 1, "{commands} commands, {} controllers", controllers.len());
}

#[test]
fn blocks_that_are_not_run_say_so() {
    let page = std::fs::read_to_string(repository().join("docs/getting-started.md")).unwrap();
    let lines: Vec<&str> = page.lines().collect();
    let fences = lines.iter().enumerate().filter(|(_, line)| line.starts_with("```") && line.len() > 3);
    let mut unrun = 0;
    for (at, fence) in fences {
        match *fence {
            "```console" => {}
            "```sh" => {
                unrun += 1;
                let before = lines[..at].iter().rev().find(|line| !line.is_empty()).unwrap();
                assert!(before.to_lowercase().contains("not run by tests"), "line {}: {before}", at + 1);
            }
            other => assert_eq!(other, "```console", "line {}: no other blocks", at + 1),
        }
    }
    assert!(unrun >= 3, "clusters and images");
}
