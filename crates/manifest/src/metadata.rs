//! The shape of object metadata, which our kinds take from a Kubernetes library and so cannot declare themselves.

use tidegate_api::wire::{Field, Shape};

/// The fields of the metadata of an object.
pub(crate) fn object_meta() -> Shape {
    let text_map = || Shape::Map(Box::new(Shape::Text));
    let texts = || Shape::List(Box::new(Shape::Text));
    object([
        ("annotations", text_map()),
        ("creationTimestamp", Shape::DateTime),
        ("deletionGracePeriodSeconds", Shape::Int64),
        ("deletionTimestamp", Shape::DateTime),
        ("finalizers", texts()),
        ("generateName", Shape::Text),
        ("generation", Shape::Int64),
        ("labels", text_map()),
        ("managedFields", Shape::List(Box::new(Shape::Free))),
        ("name", Shape::Text),
        ("namespace", Shape::Text),
        ("ownerReferences", Shape::List(Box::new(owner_reference()))),
        ("resourceVersion", Shape::Text),
        ("selfLink", Shape::Text),
        ("uid", Shape::Text),
    ])
}

fn owner_reference() -> Shape {
    object([
        ("apiVersion", Shape::Text),
        ("blockOwnerDeletion", Shape::Bool),
        ("controller", Shape::Bool),
        ("kind", Shape::Text),
        ("name", Shape::Text),
        ("uid", Shape::Text),
    ])
}

fn object<const N: usize>(fields: [(&'static str, Shape); N]) -> Shape {
    let field = |(name, shape)| Field { name, required: false, doc: String::new(), shape };
    Shape::Object(fields.into_iter().map(field).collect())
}
