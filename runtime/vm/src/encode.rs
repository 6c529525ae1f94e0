//! Makes a component of whatever a guest comes as.
//!
//! Three kinds are taken: a component, as it is; a core module that carries a component-type section, as language tools make
//! them; and a plain core module that merely exports the hooks by the canonical ABI. The last may call them by their short names
//! (`run`), since some languages cannot spell `nettare:load/lifecycle@0.1.0#run`; they are renamed here, and the world is
//! composed of those that are there.

use std::borrow::Cow;
use std::collections::BTreeSet;

use wasm_encoder::{ExportKind, ExportSection, RawSection};
use wasmparser::{Encoding, ExternalKind, Parser, Payload};
use wit_component::{ComponentEncoder, StringEncoding};

use crate::contract::{self, Contract};
use crate::error::LoadError;

/// The prefix of a function that frees what an exported function returned.
const POST_RETURN: &str = "cabi_post_";

/// The first bytes of every module and component (WebAssembly core specification, section 5.5.16).
const MAGIC: &[u8] = b"\0asm";

/// The component in, or made of, these bytes.
pub(crate) fn component(bytes: &[u8]) -> Result<Cow<'_, [u8]>, LoadError> {
    if bytes.first() == Some(&b'(') {
        let text = "it looks like WebAssembly in text; make it binary first, with `wasm-tools parse` for instance";
        return Err(LoadError::NotWasm(text.to_owned()));
    }
    if !bytes.starts_with(MAGIC) {
        let text = "it does not begin with the bytes that every WebAssembly file begins with";
        return Err(LoadError::NotWasm(text.to_owned()));
    }
    let outline = Outline::of(bytes)?;
    match outline.encoding {
        Encoding::Component => Ok(Cow::Borrowed(bytes)),
        Encoding::Module => encode(bytes, &outline).map(Cow::Owned),
    }
}

/// What of a file decides how it is taken.
struct Outline<'a> {
    encoding: Encoding,
    has_type_section: bool,
    imports: Vec<(&'a str, &'a str)>,
    exports: Vec<wasmparser::Export<'a>>,
}

impl<'a> Outline<'a> {
    fn of(bytes: &'a [u8]) -> Result<Outline<'a>, LoadError> {
        let mut outline = Outline {
            encoding: Encoding::Module,
            has_type_section: false,
            imports: Vec::new(),
            exports: Vec::new(),
        };
        let mut nesting = 0_u32;
        for payload in Parser::new(0).parse_all(bytes) {
            let payload = payload.map_err(not_wasm)?;
            match payload {
                Payload::Version { encoding, .. } => {
                    if nesting == 0 {
                        outline.encoding = encoding;
                    }
                    nesting += 1;
                }
                Payload::End(_) => nesting = nesting.saturating_sub(1),
                _ if outline.encoding == Encoding::Module => outline.note(payload)?,
                _ => {}
            }
        }
        Ok(outline)
    }

    fn note(&mut self, payload: Payload<'a>) -> Result<(), LoadError> {
        match payload {
            Payload::ImportSection(section) => {
                for import in section.into_imports() {
                    let import = import.map_err(not_wasm)?;
                    self.imports.push((import.module, import.name));
                }
            }
            Payload::ExportSection(section) => {
                for export in section {
                    self.exports.push(export.map_err(not_wasm)?);
                }
            }
            Payload::CustomSection(section) if section.name().starts_with("component-type") => {
                self.has_type_section = true;
            }
            _ => {}
        }
        Ok(())
    }
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "the form that `map_err` takes"
)]
fn not_wasm(error: wasmparser::BinaryReaderError) -> LoadError {
    LoadError::NotWasm(format!("{} at byte {}", error.message(), error.offset()))
}

fn encode(bytes: &[u8], outline: &Outline<'_>) -> Result<Vec<u8>, LoadError> {
    let contract = Contract::get()?;
    for (module, name) in &outline.imports {
        // Names in brackets and the like are the canonical ABI's own; the encoder knows them.
        if !module.starts_with(['[', '$']) && !module.is_empty() && !module.starts_with("cm32p2") {
            contract.check_import(module, Some(name))?;
        }
    }
    let typed = if outline.has_type_section {
        Cow::Borrowed(bytes)
    } else {
        contract::check_exports(outline.exports.iter().map(|export| export.name))?;
        Cow::Owned(embed(bytes, outline, contract)?)
    };
    ComponentEncoder::default()
        .validate(true)
        .module(&typed)
        .and_then(|mut encoder| encoder.encode())
        .map_err(|error| LoadError::Encode(format!("{error:#}")))
}

/// Renames the short names, and adds the section that says what world this is.
fn embed(bytes: &[u8], outline: &Outline<'_>, contract: &Contract) -> Result<Vec<u8>, LoadError> {
    let hooks: BTreeSet<&str> = contract.hooks().collect();
    let present = outline
        .exports
        .iter()
        .filter_map(|export| {
            hooks
                .get(
                    export
                        .name
                        .rsplit_once('#')
                        .map_or(export.name, |(_, hook)| hook),
                )
                .copied()
        })
        .collect();
    let mut module = rename(bytes, outline, &hooks)?;
    let (resolve, world) = contract.world_with(&present);
    wit_component::embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8)
        .map_err(|error| LoadError::Encode(format!("{error:#}")))?;
    Ok(module)
}

fn rename(
    bytes: &[u8],
    outline: &Outline<'_>,
    hooks: &BTreeSet<&str>,
) -> Result<Vec<u8>, LoadError> {
    let mut module = wasm_encoder::Module::new();
    for payload in Parser::new(0).parse_all(bytes) {
        let payload = payload.map_err(not_wasm)?;
        if let Payload::ExportSection(_) = payload {
            module.section(&renamed_exports(outline, hooks)?);
        } else if let Some((id, range)) = payload.as_section() {
            let data = bytes.get(range).unwrap_or_default();
            module.section(&RawSection { id, data });
        }
    }
    Ok(module.finish())
}

fn renamed_exports(
    outline: &Outline<'_>,
    hooks: &BTreeSet<&str>,
) -> Result<ExportSection, LoadError> {
    let lifecycle = contract::interface("lifecycle");
    let mut exports = ExportSection::new();
    for export in &outline.exports {
        let (prefix, hook) = match export.name.strip_prefix(POST_RETURN) {
            Some(hook) => (POST_RETURN, hook),
            None => ("", export.name),
        };
        let kind = kind(export.kind).ok_or_else(|| {
            LoadError::Encode(format!(
                "the export `{}` is of an unknown kind",
                export.name
            ))
        })?;
        if hooks.contains(hook) {
            exports.export(&format!("{prefix}{lifecycle}#{hook}"), kind, export.index);
        } else {
            exports.export(export.name, kind, export.index);
        }
    }
    Ok(exports)
}

fn kind(kind: ExternalKind) -> Option<ExportKind> {
    Some(match kind {
        ExternalKind::Func => ExportKind::Func,
        ExternalKind::Table => ExportKind::Table,
        ExternalKind::Memory => ExportKind::Memory,
        ExternalKind::Global => ExportKind::Global,
        ExternalKind::Tag => ExportKind::Tag,
        ExternalKind::FuncExact => return None,
    })
}
