//! Prometheus' text exposition, version 0.0.4.
//!
//! All samples of a name stand together under its `# HELP` and `# TYPE`. A page of a large node has tens of thousands of
//! lines, so it is written in parts: [`Page::write`] writes so many and says whether there are more.

use super::{Class, Group, Metric};
use core::fmt::Write as _;

/// What `Content-Type` says of it.
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// A page that is being written.
#[derive(Debug)]
pub struct Page {
    element: &'static str,
    groups: Vec<Group>,
    /// The first group of each class: what the class has.
    classes: Vec<usize>,
    class: usize,
    metric: usize,
    group: usize,
}

impl Page {
    /// Of an element (`sgsn`), from its groups. Groups of one class need not stand together.
    #[must_use]
    pub fn new(element: &'static str, groups: Vec<Group>) -> Self {
        let mut classes: Vec<usize> = Vec::new();
        for (place, group) in groups.iter().enumerate() {
            let of_class = |first: &usize| groups.get(*first).is_some_and(|first| first.class == group.class);
            if !classes.iter().any(of_class) {
                classes.push(place);
            }
        }
        Self { element, groups, classes, class: 0, metric: 0, group: 0 }
    }

    /// Looks at up to `samples` more samples and writes them; true where there are more.
    pub fn write(&mut self, samples: usize, out: &mut String) -> bool {
        for _ in 0..samples {
            let Some(first) = self.classes.get(self.class).and_then(|first| self.groups.get(*first)) else {
                return false;
            };
            let Some(metric) = first.metrics.get(self.metric) else {
                (self.class, self.metric, self.group) = (self.class + 1, 0, 0);
                continue;
            };
            let name = Name { element: self.element, class: first.class, metric };
            if self.group == 0 {
                name.head(out);
            }
            match self.groups.get(self.group) {
                Some(group) if group.class == first.class => {
                    let same = group.metrics.get(self.metric).filter(|other| other.name == metric.name);
                    if let Some(metric) = same {
                        name.sample(group, metric.value, out);
                    }
                    self.group += 1;
                }
                Some(_) => self.group += 1,
                None => (self.metric, self.group) = (self.metric + 1, 0),
            }
        }
        true
    }

    /// All of it at once.
    #[must_use]
    pub fn whole(mut self) -> String {
        let mut out = String::new();
        while self.write(usize::MAX, &mut out) {}
        out
    }
}

/// `gannet_ELEMENT_CLASS_METRIC_total`.
struct Name<'a> {
    element: &'static str,
    class: &'static Class,
    metric: &'a Metric,
}

impl core::fmt::Display for Name<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "gannet_{}_", self.element)?;
        if !self.class.name.is_empty() {
            write!(f, "{}_", self.class.name)?;
        }
        f.write_str(self.metric.name)?;
        f.write_str(if self.metric.is_counter() { "_total" } else { "" })
    }
}

impl Name<'_> {
    fn head(&self, out: &mut String) {
        let _ = write!(out, "# HELP {self} ");
        for c in self.metric.help.chars() {
            match c {
                '\\' => out.push_str("\\\\"),
                '\n' => out.push_str("\\n"),
                other => out.push(other),
            }
        }
        let kind = if self.metric.is_counter() { "counter" } else { "gauge" };
        let _ = writeln!(out, "\n# TYPE {self} {kind}");
    }

    fn sample(&self, group: &Group, value: u64, out: &mut String) {
        let _ = write!(out, "{self}");
        for (place, (label, text)) in group.labels.iter().enumerate() {
            let _ = write!(out, "{}{label}=\"", if place == 0 { '{' } else { ',' });
            for c in text.chars() {
                match c {
                    '\\' => out.push_str("\\\\"),
                    '"' => out.push_str("\\\""),
                    '\n' => out.push_str("\\n"),
                    other => out.push(other),
                }
            }
            out.push('"');
        }
        if !group.labels.is_empty() {
            out.push('}');
        }
        let _ = writeln!(out, " {value}");
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::groups;
    use super::*;

    const PAGE: &str = r#"# HELP gannet_sgsn_ll_pdu_downlink_total LL-PDUs that went to BSSs
# TYPE gannet_sgsn_ll_pdu_downlink_total counter
gannet_sgsn_ll_pdu_downlink_total 7
# HELP gannet_sgsn_mobiles Mobiles
# TYPE gannet_sgsn_mobiles gauge
gannet_sgsn_mobiles 2
# HELP gannet_sgsn_pool_no_frame_total no free frame was left in the pool
# TYPE gannet_sgsn_pool_no_frame_total counter
gannet_sgsn_pool_no_frame_total 0
# HELP gannet_sgsn_part_taken_total What was \\ taken\nof it
# TYPE gannet_sgsn_part_taken_total counter
gannet_sgsn_part_taken_total{name="a\"1"} 3
gannet_sgsn_part_taken_total{name="127.0.0.1:5"} 4
"#;

    #[test]
    fn a_page_by_octets() {
        assert_eq!(Page::new("sgsn", groups()).whole(), PAGE);
        assert_eq!(Page::new("sgsn", Vec::new()).whole(), "");
    }

    #[test]
    fn groups_in_any_order_and_a_page_in_any_parts() {
        let mut shuffled = groups();
        shuffled.swap(0, 1);
        shuffled.swap(1, 2);
        for samples in 1..9 {
            let mut page = Page::new("sgsn", shuffled.clone());
            let mut out = String::new();
            while page.write(samples, &mut out) {}
            let (parts, node) =
                (&PAGE[PAGE.find("# HELP gannet_sgsn_part").unwrap()..], out.find("gannet_sgsn_ll"));
            assert!(out.starts_with(parts) && node.is_some(), "{out}");
            assert_eq!(out.len(), PAGE.len());
        }
    }
}
