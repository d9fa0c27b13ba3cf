//! `index.html` of a run: it says by itself what was run, how, where and when, and what each row of its table means.

use super::{MachineInfo, REPORTED, Report, Verdict};
use std::fmt::Write as _;

const STYLE: &str = "\
:root{color-scheme:light dark;--ink:#1a1a1a;--paper:#fff;--line:#c8c8c8;--pale:#555;--no:#b00020}
@media (prefers-color-scheme:dark){:root{--ink:#e8e8e8;--paper:#161616;--line:#484848;--pale:#b4b4b4;--no:#ff8a8a}}
body{font:16px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--paper);max-width:56rem;margin:2rem auto;padding:0 1rem}
h2{margin-top:2rem}
table{border-collapse:collapse;width:100%}
td,th{text-align:left;vertical-align:top;padding:.35rem .7rem .35rem 0;border-bottom:1px solid var(--line)}
.claims th:first-child{width:34%}
.facts th{font-weight:normal;color:var(--pale);white-space:nowrap;width:1%}
.means{display:block;color:var(--pale);font-size:.9rem}
.verdict{white-space:nowrap}.no{color:var(--no);font-weight:bold}.open{font-style:italic}
.wide{overflow-x:auto;margin:1rem 0}.wide td{white-space:nowrap}
figure{margin:1.5rem 0}img{display:block;width:100%;max-width:800px;height:auto}
code{overflow-wrap:anywhere}";

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// The page; `purpose` is what the experiment is for, and `written` when the page was.
pub(super) fn page(report: &Report, purpose: &str, written: &str) -> String {
    let name = escape(&report.experiment);
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" \
         content=\"width=device-width\">\n<title>{name}</title>\n<style>\n{STYLE}\n</style>\n<h1>{name}</h1>\n"
    );
    if !purpose.is_empty() {
        let _ = writeln!(page, "<p>{}</p>", escape(purpose));
    }
    facts(&mut page, report, written);
    claims(&mut page, report);
    if !report.figures.is_empty() {
        page.push_str("<h2>Figures</h2>\n");
    }
    for figure in &report.figures {
        let _ = writeln!(
            page,
            "<figure><img src=\"{0}.svg\" alt=\"{1}\"></figure>",
            escape(&figure.name),
            escape(&figure.caption)
        );
    }
    remarks(&mut page, report);
    let _ = writeln!(
        page,
        "<h2>All numbers</h2>\n<p><a href=\"{name}.json\">{name}.json</a> has every point that was measured (<code>cells</code>: \
         where it stands on each axis, and its metrics with their units), the table above (<code>verdicts</code>) and the points \
         of each figure (<code>figures</code>).</p>\n</html>"
    );
    page
}

/// Whether a line is a row of a table in Markdown.
fn is_row(line: &str) -> bool {
    line.starts_with('|')
}

/// Sentences are a list, and tables are tables.
fn remarks(page: &mut String, report: &Report) {
    // What a simulated run says in sentences is its time on the clock.
    let is_told = |remark: &&String| report.machine.is_some() || remark.lines().any(is_row);
    let mut told = report.remarks.iter().filter(is_told).peekable();
    if told.peek().is_some() {
        page.push_str("<h2>Remarks</h2>\n");
    }
    for remark in told {
        let lines: Vec<&str> = remark.lines().filter(|line| !line.trim().is_empty()).collect();
        for block in lines.chunk_by(|one, other| is_row(one) == is_row(other)) {
            match block.first() {
                Some(first) if is_row(first) => rows(page, block),
                _ => {
                    let _ = writeln!(page, "<p>{}</p>", escape(&block.join(" ")));
                }
            }
        }
    }
}

/// Rows of Markdown, of one table or several: the row above a rule is a head.
fn rows(page: &mut String, rows: &[&str]) {
    let is_rule = |row: &str| row.chars().all(|c| matches!(c, '|' | '-' | ':' | ' '));
    page.push_str("<div class=\"wide\"><table>\n");
    for (index, row) in rows.iter().enumerate() {
        if is_rule(row) {
            continue;
        }
        let is_head = rows.get(index + 1).is_some_and(|next| is_rule(next));
        let tag = if is_head { "th" } else { "td" };
        let cells =
            row.trim_matches('|').split('|').map(|cell| format!("<{tag}>{}</{tag}>", escape(cell.trim())));
        let _ = writeln!(page, "<tr>{}</tr>", cells.collect::<String>());
    }
    page.push_str("</table></div>\n");
}

/// How it was run, as a table of names and values.
fn facts(page: &mut String, report: &Report, written: &str) {
    page.push_str("<h2>How it was run</h2>\n<table class=\"facts\">\n");
    let mut row = |name: &str, value: &str| {
        let _ = writeln!(page, "<tr><th>{}</th><td>{}</td></tr>", escape(name), value);
    };
    row("command", &format!("<code>{}</code>", escape(&report.command)));
    row("version", &format!("Gannet {}", escape(&report.version)));
    match &report.machine {
        Some(machine) => {
            row("time", &format!("real time, {}", escape(&machine.date)));
            let MachineInfo { cores, cpu, kernel, .. } = machine;
            row("machine", &escape(&format!("{cores} cores of {cpu}, Linux {kernel}")));
        }
        None => {
            row("time", &format!("virtual; this page was written {}", escape(written)));
            row("machine", "any: the same seed gives the same octets on every machine");
        }
    }
    for (name, value) in &report.parameters {
        row(name, &escape(value));
    }
    page.push_str("</table>\n");
}

/// The table of claims, each with what it means.
fn claims(page: &mut String, report: &Report) {
    if report.verdicts.is_empty() {
        return;
    }
    let paper = report.has_paper();
    let paper_head = if paper { "<th>paper</th>" } else { "" };
    let _ = write!(
        page,
        "<h2>What it showed</h2>\n<table class=\"claims\">\n<tr><th>claim</th>{paper_head}<th>measured</th><th>goal</th><th>holds</th></tr>\n"
    );
    for verdict in &report.verdicts {
        let Verdict { name, means, goal, .. } = verdict;
        let means = match means.is_empty() {
            true => String::new(),
            false => format!("<span class=\"means\">{}</span>", escape(means)),
        };
        let paper = match paper {
            true => format!("<td>{}</td>", escape(verdict.paper.as_deref().unwrap_or("–"))),
            false => String::new(),
        };
        let class = match verdict.holds {
            Some(true) if goal == REPORTED => "verdict open",
            Some(true) => "verdict",
            Some(false) => "verdict no",
            None => "verdict open",
        };
        let _ = writeln!(
            page,
            "<tr><td>{}{means}</td>{paper}<td>{}</td><td>{}</td><td class=\"{class}\">{}</td></tr>",
            escape(name),
            escape(&verdict.measured()),
            escape(goal),
            verdict.word()
        );
    }
    page.push_str(
        "</table>\n<p><i>yes</i>: the measured value meets the goal. <i>NO</i>: it does not. <i>not shown</i>: this run could not \
         measure it, which says nothing either way. <i>–</i>: told without a goal.</p>\n",
    );
}
