//! Runs that share nothing, side by side: simulated worlds have a thread each, as many at a time as the machine has processors.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// What `run` gives for each of `places`, in their order.
pub fn each<P: Sync, T: Send>(places: &[P], run: impl Fn(&P) -> T + Sync) -> Vec<T> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(places.len());
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::with_capacity(places.len()));
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let Some(place) = places.get(number) else { return };
                    let result = run(place);
                    done.lock().unwrap_or_else(PoisonError::into_inner).push((number, result));
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_unstable_by_key(|(number, _)| *number);
    done.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_stand_in_the_order_of_their_places() {
        let places: Vec<u64> = (0..100).collect();
        let squares: Vec<u64> = places.iter().map(|place| place * place).collect();
        assert_eq!(each(&places, |place| place * place), squares);
        assert!(each(&[] as &[u64], |place| *place).is_empty());
    }
}
