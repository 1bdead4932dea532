//! Expansions of representative functions, kept as files that people read.
//!
//! `tests/expansion/NAME.rs` is what a user writes, `NAME.expanded.rs` what comes out of it, with the
//! absolute paths of the runtime shortened. `UPDATE_EXPANSIONS=1 cargo test -p deadline-macros`
//! writes them anew.

use crate::entry;
use proc_macro2::TokenStream;
use quote::{ToTokens as _, quote};
use std::fs;
use std::path::{Path, PathBuf};
use syn::{Attribute, File, ImplItem, Item};

#[test]
fn expansions_read_as_their_files_say() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/expansion");
    let mut inputs: Vec<PathBuf> = fs::read_dir(folder)
        .expect("the folder of the snapshots")
        .map(|entry| entry.expect("an entry of it").path())
        .filter(|path| !path.to_string_lossy().ends_with(".expanded.rs"))
        .collect();
    inputs.sort();
    assert!(inputs.len() >= 10, "ten representative functions");

    let mut different = Vec::new();
    for input in inputs {
        let written = input.with_extension("expanded.rs");
        let text = fs::read_to_string(&input).expect("a function");
        let expanded = shortened(&expand(&text));
        if std::env::var_os("UPDATE_EXPANSIONS").is_some() {
            fs::write(&written, expanded).expect("a snapshot to write");
        } else if fs::read_to_string(&written).unwrap_or_default() != expanded {
            different.push(format!("{}\n{expanded}", written.display()));
        }
    }
    assert!(
        different.is_empty(),
        "run with UPDATE_EXPANSIONS=1 and read what has changed:\n\n{}",
        different.join("\n")
    );
}

/// Expands our attributes as the compiler would, from the top.
fn expand(text: &str) -> File {
    let file = syn::parse_str::<File>(text).expect("a file");
    let items = file.items.into_iter().map(item);
    syn::parse2(quote!(#(#items)*)).expect("an expansion that parses")
}

fn item(item: Item) -> TokenStream {
    match item {
        Item::Fn(mut item) => {
            let ours = |attr: &Attribute| {
                attr.path().is_ident("deadline") || attr.path().is_ident("checkpoint")
            };
            let Some(first) = item.attrs.iter().position(ours) else {
                return item.into_token_stream();
            };
            let attr = item.attrs.remove(first);
            let args = attr
                .meta
                .require_list()
                .map_or_else(|_| TokenStream::new(), |list| list.tokens.clone());
            match attr.path().get_ident().map(ToString::to_string).as_deref() {
                Some("deadline") => entry::deadline(&args, item.into_token_stream()),
                Some("checkpoint") => entry::checkpoint(args, item.into_token_stream()),
                other => panic!("not one of ours: {other:?}"),
            }
        }
        Item::Impl(mut item) => {
            for method in &mut item.items {
                if let ImplItem::Fn(function) = method {
                    let expanded = self::item(Item::Fn(syn::ItemFn {
                        attrs: std::mem::take(&mut function.attrs),
                        vis: function.vis.clone(),
                        modifiers: syn::FnModifiers::default(),
                        sig: function.sig.clone(),
                        block: Box::new(function.block.clone()),
                    }));
                    *method = ImplItem::Verbatim(expanded);
                }
            }
            let (generics, this, items) = (&item.generics, &item.self_ty, &item.items);
            quote!(impl #generics #this { #(#items)* })
        }
        other => other.into_token_stream(),
    }
}

/// Formatted, with the paths that stand for the runtime and for `core` as short as one would write them.
fn shortened(expanded: &File) -> String {
    let short = prettyplease::unparse(expanded)
        .replace("::deadline_runtime::__rt::", "rt::")
        .replace("::deadline_runtime::", "deadline::")
        .replace("::core::future::", "")
        .replace("::core::option::Option::", "")
        .replace("::core::result::Result::", "");
    prettyplease::unparse(&syn::parse_str(&short).expect("short paths that parse"))
}
