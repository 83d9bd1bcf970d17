//! What the world does.
