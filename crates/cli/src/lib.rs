//! The kubectl plugin: arguments, commands, printers.
