//! What happened when, and what followed from it.
