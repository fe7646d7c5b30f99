//! What flags say: images, versions, faults and acts in a few words.

use tidegate_sim::faults::Fault;

use crate::quantities::{duration, share, span};
use crate::setting::{Act, Deed, Faults, ImageChange, Version, VersionSetting};

/// How the name of a fault is written: `late-events`.
pub fn fault_name(fault: Fault) -> String {
    let mut name = String::new();
    for letter in format!("{fault:?}").chars() {
        if letter.is_ascii_uppercase() && !name.is_empty() {
            name.push('-');
        }
        name.push(letter.to_ascii_lowercase());
    }
    name
}

/// The fault of a name, however its words are put together.
///
/// # Errors
/// The names there are.
pub fn fault(name: &str) -> Result<Fault, String> {
    let plain = |text: &str| text.replace(['-', '_'], "").to_lowercase();
    let found = Fault::ALL.into_iter().find(|fault| plain(&fault_name(*fault)) == plain(name));
    found.ok_or_else(|| {
        let known: Vec<String> = Fault::ALL.into_iter().map(fault_name).collect();
        format!("there is no fault {name:?}; there are {}, and all, drawn and none", known.join(", "))
    })
}

/// Reads `slow-pods`, `slow-pods=60`, `all`, `drawn` or `none`, and adds it to what was read before.
///
/// # Errors
/// What it must be.
pub fn add_fault(faults: &mut Faults, text: &str) -> Result<(), String> {
    let (name, rate) = match text.split_once('=') {
        None => (text, None),
        Some((name, rate)) => {
            let read = rate.parse::<u32>().ok().filter(|rate| *rate <= 1000);
            let read = read.ok_or_else(|| format!("{rate:?} is no number from 0 to 1000: so many of a thousand cases"));
            (name, Some(read?))
        }
    };
    let added = match (name, rate) {
        ("all", rate) => Fault::ALL.into_iter().map(|fault| (fault, rate)).collect(),
        ("drawn", None) => {
            *faults = Faults::Drawn;
            return Ok(());
        }
        ("none", None) => {
            *faults = Faults::None;
            return Ok(());
        }
        _ => vec![(fault(name)?, rate)],
    };
    match faults {
        Faults::These(known) => known.extend(added),
        _ => *faults = Faults::These(added),
    }
    Ok(())
}

/// Reads `ROLLOUT=CONTAINER=IMAGE`, or `CONTAINER=IMAGE` for the only Rollout.
///
/// # Errors
/// What it must be.
pub fn image_change(text: &str) -> Result<ImageChange, String> {
    let parts: Vec<&str> = text.splitn(3, '=').collect();
    let (rollout, container, image) = match parts.as_slice() {
        [rollout, container, image] => (Some(*rollout), *container, *image),
        [container, image] => (None, *container, *image),
        _ => return Err(format!("{text:?} is not ROLLOUT=CONTAINER=IMAGE")),
    };
    if container.is_empty() || image.is_empty() || rollout == Some("") {
        return Err(format!("{text:?} is not ROLLOUT=CONTAINER=IMAGE"));
    }
    let container = Some(container.to_owned()).filter(|container| container != "*");
    Ok(ImageChange { rollout: rollout.map(str::to_owned), container, image: image.to_owned() })
}

/// Reads `old`, `new` or an image.
pub fn version(text: &str) -> Version {
    match text {
        "old" => Version::Old,
        "new" => Version::New,
        image => Version::Image(image.to_owned()),
    }
}

/// Reads `new=5%`.
///
/// # Errors
/// What it must be.
pub fn error_rate(text: &str) -> Result<VersionSetting, String> {
    let (name, rate) = text.rsplit_once('=').ok_or_else(|| format!("{text:?} is not VERSION=SHARE, such as new=5%"))?;
    Ok(VersionSetting { version: version(name), error_rate: Some(share(rate)?), latency: None })
}

/// Reads `new=20ms-80ms`.
///
/// # Errors
/// What it must be.
pub fn latency(text: &str) -> Result<VersionSetting, String> {
    let (name, time) =
        text.rsplit_once('=').ok_or_else(|| format!("{text:?} is not VERSION=TIME, such as new=20ms-80ms"))?;
    Ok(VersionSetting { version: version(name), error_rate: None, latency: Some(span(time)?) })
}

/// What acts there are, for errors and help.
pub const ACTS: &str = "promote, promote-full, abort, retry, undo, pause, restart, scale N, set-image CONTAINER=IMAGE, \
                        delete-pod old|new, crash-controller [TIME]";

/// Reads `2m abort shop`: when, what, and to which Rollout (the only one when left out).
///
/// # Errors
/// What it must be.
pub fn act(text: &str) -> Result<Act, String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let [at, what, rest @ ..] = words.as_slice() else {
        return Err(format!("{text:?} is not TIME ACT [ROLLOUT]; acts are {ACTS}"));
    };
    let at = duration(at)?;
    let named = |rest: &[&str]| match rest {
        [] => Ok(None),
        [name] => Ok(Some((*name).to_owned())),
        _ => Err(format!("{text:?} has too many words; it is TIME ACT [ROLLOUT]")),
    };
    let deed = match (*what, rest) {
        ("promote", rest) => Deed::Promote(named(rest)?),
        ("promote-full", rest) => Deed::PromoteFully(named(rest)?),
        ("abort", rest) => Deed::Abort(named(rest)?),
        ("retry", rest) => Deed::Retry(named(rest)?),
        ("undo", rest) => Deed::Undo(named(rest)?),
        ("pause", rest) => Deed::Pause(named(rest)?),
        ("restart", rest) => Deed::Restart(named(rest)?),
        ("scale", [size, rest @ ..]) => {
            let size = size.parse().map_err(|_| format!("{size:?} is no number of pods; write scale N [ROLLOUT]"))?;
            Deed::Scale(named(rest)?, size)
        }
        ("set-image", [change, rest @ ..]) => {
            let change = image_change(change)?;
            let rollout = named(rest)?.or(change.rollout);
            Deed::SetImage(ImageChange { rollout, ..change })
        }
        ("delete-pod", [which, rest @ ..]) => Deed::DeletePod(named(rest)?, version(which)),
        ("crash-controller", []) => Deed::CrashController(std::time::Duration::from_secs(5)),
        ("crash-controller", [time]) => Deed::CrashController(duration(time)?),
        _ => return Err(format!("{text:?} is no act; acts are {ACTS}")),
    };
    Ok(Act { at, deed })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn every_fault_of_the_menu_can_be_asked_for_by_name() {
        for known in Fault::ALL {
            assert_eq!(fault(&fault_name(known)), Ok(known));
            assert_eq!(fault(&format!("{known:?}")), Ok(known));
        }
        assert_eq!(fault_name(Fault::LateEvents), "late-events");
    }

    #[test]
    fn an_unknown_fault_is_refused_with_the_list() {
        let told = fault("earthquake").unwrap_err();
        assert!(told.starts_with("there is no fault \"earthquake\"; there are late-events, "), "{told}");
        assert!(Fault::ALL.into_iter().all(|known| told.contains(&fault_name(known))), "{told}");
    }

    #[test]
    fn faults_add_up_and_have_rates() {
        let mut faults = Faults::None;
        add_fault(&mut faults, "slow-pods=500").unwrap();
        add_fault(&mut faults, "crash").unwrap();
        let menu = faults.menu(1);
        assert_eq!(menu.faults(), [Fault::Crash, Fault::SlowPods]);
        assert_eq!((menu.rate(Fault::SlowPods), menu.rate(Fault::Crash)), (500, 10));
        assert!(add_fault(&mut faults, "crash=2000").is_err());
        add_fault(&mut faults, "drawn").unwrap();
        assert_eq!(faults, Faults::Drawn);
    }

    #[test]
    fn acts_are_read_and_what_is_none_is_refused_with_the_list() {
        let two_minutes = Duration::from_secs(120);
        assert_eq!(act("2m abort shop"), Ok(Act { at: two_minutes, deed: Deed::Abort(Some("shop".to_owned())) }));
        assert_eq!(act("2m scale 6"), Ok(Act { at: two_minutes, deed: Deed::Scale(None, 6) }));
        for text in ["2m", "soon abort", "2m explode", "2m scale many", "2m abort shop now", "2m set-image shop"] {
            assert!(act(text).is_err(), "{text}");
        }
        assert!(act("2m explode").unwrap_err().contains("acts are promote"));
    }

    #[test]
    fn images_are_read_with_and_without_a_rollout() {
        let image = |rollout: Option<&str>| ImageChange {
            rollout: rollout.map(str::to_owned),
            container: Some("main".to_owned()),
            image: "shop:2".to_owned(),
        };
        assert_eq!(image_change("shop=main=shop:2"), Ok(image(Some("shop"))));
        assert_eq!(image_change("main=shop:2"), Ok(image(None)));
        for text in ["", "shop:2", "main=", "=main=shop:2"] {
            assert!(image_change(text).is_err(), "{text}");
        }
    }
}
