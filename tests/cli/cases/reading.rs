//! What is read, refused, or noted.
