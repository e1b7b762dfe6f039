//! `resolve` against the loaders themselves: the same files, in the same order, by the same rules.

mod corpus;
mod musl;
mod oracle;
mod rules;
mod verb;
