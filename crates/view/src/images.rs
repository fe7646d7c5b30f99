//! Which images run, and in which roles.

use std::collections::BTreeSet;

use crate::info::{ExperimentInfo, ReplicaSetInfo};

/// An image and the roles it runs in.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Image {
    pub(crate) image: String,
    pub(crate) tags: Vec<String>,
}

/// The images of all ReplicaSets that have pods, by name.
pub(crate) fn images(sets: &[ReplicaSetInfo], experiments: &[ExperimentInfo]) -> Vec<Image> {
    let mut images = Vec::new();
    for set in sets {
        add(&mut images, set, &roles(set));
    }
    for set in experiments.iter().flat_map(|experiment| &experiment.replica_sets) {
        let tag = (!set.template.is_empty()).then(|| format!("Σ:{}", set.template));
        add(&mut images, set, &Vec::from_iter(tag));
    }
    images.sort_by(|a, b| a.image.cmp(&b.image));
    images
}

fn add(images: &mut Vec<Image>, set: &ReplicaSetInfo, tags: &[String]) {
    if set.replicas <= 0 {
        return;
    }
    for image in &set.images {
        match images.iter_mut().find(|known| known.image == *image) {
            // The order of roles is that of the first ReplicaSet; from the second on it is that of the alphabet.
            Some(known) => {
                let union: BTreeSet<&String> = known.tags.iter().chain(tags).collect();
                known.tags = union.into_iter().cloned().collect();
            }
            None => images.push(Image { image: image.clone(), tags: tags.to_vec() }),
        }
    }
}

fn roles(set: &ReplicaSetInfo) -> Vec<String> {
    let roles = [
        (set.canary, "canary"),
        (set.stable, "stable"),
        (set.active, "active"),
        (set.preview, "preview"),
        (set.ping, "ping"),
        (set.pong, "pong"),
    ];
    roles.iter().filter(|(is_set, _)| *is_set).map(|(_, role)| (*role).to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(images: &[&str], replicas: i32) -> ReplicaSetInfo {
        let images = images.iter().map(|image| (*image).to_owned()).collect();
        ReplicaSetInfo { images, replicas, ..ReplicaSetInfo::default() }
    }

    fn line(sets: &[ReplicaSetInfo], experiments: &[ExperimentInfo]) -> Vec<String> {
        images(sets, experiments).iter().map(|image| format!("{} {}", image.image, image.tags.join(", "))).collect()
    }

    #[test]
    fn roles_keep_their_order_until_an_image_is_met_again() {
        let both = ReplicaSetInfo { stable: true, active: true, ..set(&["a"], 1) };
        assert_eq!(line(&[both], &[]), ["a stable, active"]);
        let twice = ReplicaSetInfo { stable: true, active: true, ..set(&["a", "a"], 1) };
        assert_eq!(line(&[twice], &[]), ["a active, stable"]);
        let stable = ReplicaSetInfo { stable: true, ..set(&["a"], 1) };
        let canary = ReplicaSetInfo { canary: true, ..set(&["a"], 1) };
        assert_eq!(line(&[canary, stable.clone()], &[]), ["a canary, stable"]);
        let template = ReplicaSetInfo { template: "base".to_owned(), ..set(&["a"], 1) };
        let experiment = ExperimentInfo { replica_sets: vec![template], ..ExperimentInfo::default() };
        assert_eq!(line(&[stable], &[experiment]), ["a stable, Σ:base"]);
    }

    #[test]
    fn images_without_pods_are_left_out_and_the_rest_is_sorted() {
        assert_eq!(line(&[set(&["z", "b"], 1), set(&["c"], 0)], &[]), ["b ", "z "]);
    }
}
