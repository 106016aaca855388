/** The report's style sheet. The colours are the dashboard's. */
export const reportStyle = `
:root { color-scheme: light dark; --text: #1d252d; --dim: #5a6773; --page: #f4f6f8; --surface: #fff; --line: #e0e6ea;
  --good: #1b7f4d; --warn: #9a5b00; --bad: #bf2c2c; --good-wash: #e7f5ed; --warn-wash: #fef7e8; --bad-wash: #fdf1f1;
  --c1: #0b7285; --c2: #d9822b; --c3: #a23b72; --c4: #5a6773; }
@media (prefers-color-scheme: dark) { :root { --text: #dde3ea; --dim: #94a1b0; --page: #10151a; --surface: #181f27; --line: #28313b;
  --good: #5fc492; --warn: #e8b45c; --bad: #f28b82; --good-wash: #152a20; --warn-wash: #2a2317; --bad-wash: #261b20;
  --c1: #6fbcca; --c2: #e8a860; --c3: #d68bb4; --c4: #94a1b0; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--text); font: 14px/1.5 Inter, system-ui, -apple-system, "Segoe UI", sans-serif; }
main { max-width: 1180px; margin: 0 auto; padding: 28px 20px 60px; }
header { display: flex; flex-wrap: wrap; align-items: baseline; gap: 6px 14px; margin-bottom: 4px; }
h1 { font-size: 24px; line-height: 1.25; margin: 0; overflow-wrap: anywhere; }
h2 { font-size: 15px; margin: 0 0 10px; }
.meta { color: var(--dim); margin: 0 0 18px; overflow-wrap: anywhere; }
.badge { border-radius: 999px; padding: 2px 11px; font-weight: 600; font-size: 12.5px; white-space: nowrap; }
.badge.good { color: var(--good); background: var(--good-wash); } .badge.bad { color: var(--bad); background: var(--bad-wash); }
.badge.warn { color: var(--warn); background: var(--warn-wash); } .badge.dim { color: var(--dim); background: var(--line); }
.note { border-left: 3px solid var(--warn); background: var(--warn-wash); padding: 8px 12px; margin: 0 0 12px; border-radius: 0 6px 6px 0; }
.note.bad { border-color: var(--bad); background: var(--bad-wash); }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(128px, 1fr)); gap: 12px; margin-bottom: 16px; }
.tile, section { background: var(--surface); border: 1px solid var(--line); border-radius: 10px; }
.tile { padding: 10px 14px; } .tile b { display: block; font-size: 21px; line-height: 1.3; font-variant-numeric: tabular-nums; white-space: nowrap; }
.tile span { color: var(--dim); font-size: 12.5px; }
section { padding: 16px 18px; margin-bottom: 16px; min-width: 0; }
.pair { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 460px), 1fr)); gap: 16px; margin-bottom: 16px; } .pair > section { margin-bottom: 0; }
.scroll { overflow-x: auto; } svg { display: block; width: 100%; height: auto; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th { text-align: left; color: var(--dim); font-weight: 500; font-size: 12.5px; } td, th { padding: 6px 12px 6px 0; border-bottom: 1px solid var(--line); vertical-align: top; }
tr:last-child td { border-bottom: 0; } td.n, th.n { text-align: right; white-space: nowrap; } td.n:last-child, th.n:last-child { padding-right: 0; }
.config td:first-child { color: var(--dim); white-space: nowrap; font-size: 13px; } .config td:last-child { overflow-wrap: anywhere; }
code, pre { font: 12.5px/1.5 "JetBrains Mono", ui-monospace, SFMono-Regular, Menlo, monospace; } pre { margin: 0; white-space: pre-wrap; overflow-wrap: anywhere; }
details { margin-top: 10px; } summary { cursor: pointer; color: var(--dim); margin-bottom: 6px; }
.legend { display: flex; gap: 14px; margin: 0 0 4px; color: var(--dim); font-size: 12.5px; } .legend i { display: inline-block; width: 10px; height: 3px; border-radius: 2px; margin-right: 6px; vertical-align: middle; }
.tick { fill: var(--dim); font-size: 10.5px; } .end { text-anchor: end; } .middle { text-anchor: middle; }
.grid { stroke: var(--line); } .line { fill: none; stroke-width: 1.6; stroke-linejoin: round; } .area { stroke: none; fill-opacity: .12; }
.warmup { fill: var(--dim); fill-opacity: .09; } .hover { fill: transparent; } .hover:hover { fill: var(--dim); fill-opacity: .14; }
.mark { stroke: var(--dim); stroke-dasharray: 3 3; } .bar, .heat { fill: var(--c1); } .heat-ground { fill: var(--dim); fill-opacity: .05; }
${["c1", "c2", "c3", "c4", "bad"].map((name) => `.line.${name} { stroke: var(--${name}); } .area.${name} { fill: var(--${name}); } i.${name} { background: var(--${name}); }`).join("\n")}
footer { color: var(--dim); font-size: 12.5px; } .met { color: var(--good); } .missed { color: var(--bad); font-weight: 600; } .met, .missed { white-space: nowrap; width: 6em; }
@media print { body { background: #fff; } section, .tile { break-inside: avoid; } .hover { display: none; } }
`;
