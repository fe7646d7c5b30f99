//! What all pages share: the frame, its colours, and text that cannot become markup.

/// Text for a page.
pub(super) fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            other => safe.push(other),
        }
    }
    safe
}

/// A whole page: nothing is loaded from elsewhere, and nothing runs.
pub(super) fn page(title: &str, body: &str) -> String {
    let title = escaped(title);
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<title>{title}</title>\n<style>{STYLE}</style>\n</head>\n\
         <body>\n<main>\n{body}</main>\n</body>\n</html>\n"
    )
}

/// A figure with a name.
pub(super) fn card(name: &str, figure: &str, more: &str) -> String {
    let (name, figure, more) = (escaped(name), escaped(figure), escaped(more));
    format!(
        "<div class=\"card\"><div class=\"name\">{name}</div><div class=\"figure\">{figure}</div><div class=\"more\">{more}</div></div>\n"
    )
}

/// A list with a heading; nothing when there is nothing in it.
pub(super) fn list(heading: &str, lines: &[String]) -> String {
    if lines.is_empty() {
        return String::new();
    }
    let items: String = lines.iter().map(|line| format!("<li>{}</li>\n", escaped(line))).collect();
    format!("<section class=\"notes\"><h3>{}</h3>\n<ul>\n{items}</ul></section>\n", escaped(heading))
}

const STYLE: &str = "
:root{--page:#f6f7f9;--paper:#fff;--ink:#1c2430;--soft:#5b6675;--line:#dfe3e9;--old:#3567b0;--new:#c2650a;--bad:#c42b30;
--good:#1d7f4c;--wait:#7a5af0;--good-page:#e3f4ea;--bad-page:#fbe6e6}
@media (prefers-color-scheme:dark){:root{--page:#12161c;--paper:#1a2028;--ink:#e6eaf0;--soft:#98a4b3;--line:#303945;--old:#7fb0f5;
--new:#f3a34f;--bad:#f47a7d;--good:#67cf97;--wait:#b3a1ff;--good-page:#173325;--bad-page:#3c1f22}}
*{box-sizing:border-box}
body{margin:0;background:var(--page);color:var(--ink);font:15px/1.5 system-ui,-apple-system,\"Segoe UI\",Roboto,\"Noto Sans\",sans-serif}
main{max-width:1120px;margin:0 auto;padding:28px 20px 60px}
h1{font-size:24px;margin:0 0 4px;letter-spacing:-.01em}h2{font-size:19px;margin:38px 0 6px}h3{font-size:15px;margin:22px 0 6px}
p{margin:4px 0}.soft{color:var(--soft)}
.badge{display:inline-block;border-radius:999px;padding:3px 12px;font-weight:600;margin:6px 0}
.badge.good{background:var(--good-page);color:var(--good)}.badge.bad{background:var(--bad-page);color:var(--bad)}
.cards{display:grid;grid-template-columns:repeat(auto-fit,minmax(150px,1fr));gap:12px;margin:16px 0}
.card{background:var(--paper);border:1px solid var(--line);border-radius:10px;padding:12px 14px}
.card .name{color:var(--soft);font-size:13px}.card .figure{font-size:22px;font-weight:650;letter-spacing:-.01em}
.card .more{color:var(--soft);font-size:12.5px;min-height:1.4em}
.charts{display:grid;grid-template-columns:repeat(auto-fit,minmax(460px,1fr));gap:14px}
figure{margin:0;background:var(--paper);border:1px solid var(--line);border-radius:10px;padding:12px 14px 6px;break-inside:avoid}
figcaption{display:flex;flex-wrap:wrap;gap:4px 14px;align-items:baseline;font-size:13px;color:var(--soft)}
figcaption b{color:var(--ink);font-size:14px;margin-right:auto}
.key{display:inline-flex;align-items:center;gap:5px}.key i{width:16px;height:0;border-top:3px solid}
.key i.dashed{border-top-style:dashed}
svg{display:block;width:100%;height:auto}svg text{fill:var(--soft);font-size:11px}
.grid{stroke:var(--line);stroke-width:1}.mark{stroke:var(--soft);stroke-width:1;stroke-dasharray:2 3}
.line{fill:none;stroke-width:2;stroke-linejoin:round}.area{stroke:none;opacity:.22}
.old{stroke:var(--old);color:var(--old)}.new{stroke:var(--new);color:var(--new)}.bad{stroke:var(--bad);color:var(--bad)}
.good{stroke:var(--good);color:var(--good)}.plain{stroke:var(--ink);color:var(--ink)}.wished{stroke:var(--soft);color:var(--soft)}
.area.old{fill:var(--old)}.area.new{fill:var(--new)}.area.bad{fill:var(--bad);opacity:.55}.area.plain{fill:var(--soft)}
.dashed{stroke-dasharray:6 4}.dot.good{fill:var(--good)}.dot.bad{fill:var(--bad)}.dot.wished{fill:var(--soft)}.dot{stroke:var(--paper)}
.table{overflow-x:auto;background:var(--paper);border:1px solid var(--line);border-radius:10px}
table{border-collapse:collapse;width:100%;font-size:13px}
th{text-align:left;color:var(--soft);font-weight:600;border-bottom:1px solid var(--line);padding:7px 10px;white-space:nowrap}
td{padding:5px 10px;border-bottom:1px solid var(--line);vertical-align:top}tr:last-child td{border-bottom:0}
td.n,th.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}td.what{width:55%;overflow-wrap:anywhere}
code{font:12.5px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;overflow-wrap:anywhere}
.kind{border-radius:5px;padding:1px 6px;font-size:11.5px;border:1px solid var(--line);color:var(--soft);white-space:nowrap}
.kind.warning{color:var(--bad);border-color:var(--bad)}.kind.act{color:var(--wait);border-color:var(--wait)}
.kind.phase{color:var(--ink);border-color:var(--ink)}tr.failing td.failed{color:var(--bad);font-weight:650}
.notes ul{margin:0;padding-left:20px}.notes li{color:var(--soft);font-size:13.5px;overflow-wrap:anywhere}
summary{cursor:pointer;color:var(--soft);margin:10px 0}
@media (max-width:560px){.charts{grid-template-columns:1fr}}
@media print{:root{--page:#fff}body{font-size:12px}main{max-width:none;padding:0}.charts{grid-template-columns:1fr 1fr}
h2{break-after:avoid}tr{break-inside:avoid}details>*{display:block}.table{overflow:visible}table{font-size:10px}th,td{padding:2px 5px}}
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_never_become_markup() {
        assert_eq!(escaped("<b a='x'>\"&"), "&lt;b a=&#39;x&#39;&gt;&quot;&amp;");
        let page = page("</title><script>", &list("a", &["<script>alert(1)</script>".to_owned()]));
        assert!(!page.contains("<script"), "{page}");
    }
}
