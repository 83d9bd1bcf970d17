//! Names of axis columns: the shortest tail of an axis's path that nothing else in the results is called.

use super::path::{NamePath, dotted};
use crate::metrics::tables::is_column;

/// The column of each of the axes `paths`, which differ from each other.
pub(super) fn columns(paths: &[NamePath]) -> Vec<String> {
    let is_tail_of_another = |path: &NamePath, tail: &[String]| {
        paths.iter().any(|other| other != path && other.parts().ends_with(tail))
    };
    let column = |path: &NamePath| {
        let parts = path.parts();
        let tails = (0..parts.len()).rev().map(|start| &parts[start..]);
        let mut free =
            tails.filter(|tail| !is_tail_of_another(path, tail)).map(dotted).filter(|name| !is_column(name));
        free.next().unwrap_or_else(|| dotted(parts))
    };
    paths.iter().map(column).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_the_shortest_free_tails() {
        for (paths, names) in [
            (vec!["backend_service.zonal_affinity.spillover_ratio"], vec!["spillover_ratio"]),
            (
                vec!["clients.web-a.arrivals.poisson.rate", "clients.web-b.arrivals.poisson.rate"],
                vec!["web-a.arrivals.poisson.rate", "web-b.arrivals.poisson.rate"],
            ),
            (vec!["a.timeout", "b.timeout", "a.size"], vec!["a.timeout", "b.timeout", "size"]),
            (vec!["backend_service.backends.ig-a.zone"], vec!["ig-a.zone"]),
            (vec!["clients.web-a.kind", "x.requests"], vec!["web-a.kind", "x.requests"]),
            (vec!["a.b", "b"], vec!["a.b", "b"]),
            (vec!["clients.\"web a\".zone"], vec!["\"web a\".zone"]),
        ] {
            let paths: Vec<NamePath> = paths.iter().map(|path| NamePath::parse(path).unwrap()).collect();
            assert_eq!(columns(&paths), names);
        }
    }
}
