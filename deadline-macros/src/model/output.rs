//! What a body evaluates to.

use syn::visit::Visit;
use syn::visit_mut::{self, VisitMut};
use syn::{
    GenericArgument, PathArguments, ReturnType, Signature, Type, TypeInfer, TypeParamBound,
    parse_quote,
};

/// The type of the value, be the function an `async fn`, one that returns its future, or a synchronous one.
pub(crate) fn of(sig: &Signature) -> Type {
    match &sig.output {
        ReturnType::Default => parse_quote!(()),
        ReturnType::Type(_, ty) if sig.asyncness.is_some() => (**ty).clone(),
        ReturnType::Type(_, ty) => of_future(ty).unwrap_or_else(|| (**ty).clone()),
    }
}

/// The same as it may stand inside a body, where `impl Trait` is left to inference.
pub(crate) fn inferred(sig: &Signature) -> Type {
    let mut ty = of(sig);
    InferImplTrait.visit_type_mut(&mut ty);
    ty
}

/// Whether a part of it is left to inference.
pub(crate) fn is_inferred(ty: &Type) -> bool {
    struct Found(bool);
    impl<'ast> Visit<'ast> for Found {
        fn visit_type_infer(&mut self, _: &'ast TypeInfer) {
            self.0 = true;
        }
    }
    let mut found = Found(false);
    found.visit_type(ty);
    found.0
}

/// The `T` of `impl Future<Output = T>` and of `Pin<Box<dyn Future<Output = T>>>`.
fn of_future(ty: &Type) -> Option<Type> {
    match ty {
        Type::ImplTrait(ty) => ty.bounds.iter().find_map(of_bound),
        Type::TraitObject(ty) => ty.bounds.iter().find_map(of_bound),
        Type::Path(ty) => match &ty.path.segments.last()?.arguments {
            PathArguments::AngleBracketed(arguments) => match arguments.args.first()? {
                GenericArgument::Type(inner) => of_future(inner),
                _ => None,
            },
            _ => None,
        },
        Type::Paren(ty) => of_future(&ty.elem),
        Type::Group(ty) => of_future(&ty.elem),
        _ => None,
    }
}

fn of_bound(bound: &TypeParamBound) -> Option<Type> {
    let TypeParamBound::Trait(bound) = bound else {
        return None;
    };
    let last = bound
        .path
        .segments
        .last()
        .filter(|last| last.ident == "Future")?;
    let PathArguments::AngleBracketed(arguments) = &last.arguments else {
        return None;
    };
    arguments.args.iter().find_map(|argument| match argument {
        GenericArgument::AssocType(output) if output.ident == "Output" => Some(output.ty.clone()),
        _ => None,
    })
}

struct InferImplTrait;

impl VisitMut for InferImplTrait {
    fn visit_type_mut(&mut self, ty: &mut Type) {
        if let Type::ImplTrait(impl_trait) = ty {
            let underscore_token = syn::Token![_](impl_trait.impl_token.span);
            *ty = Type::Infer(TypeInfer {
                attrs: Vec::new(),
                underscore_token,
            });
        } else {
            visit_mut::visit_type_mut(self, ty);
        }
    }
}
