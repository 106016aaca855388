/** The SQL of a description. */
import type { Agg, Col, Expr, Node, PlanCase, Window } from "./description.ts";

const types = {
  time: "UINT64 NOT NULL",
  int: "INT32",
  float: "FLOAT64",
  text: "VARSIZED",
} as const;

export function printSql(plan: PlanCase, path: (file: number) => string): string {
  const { query, files, boundMs, json, jsonOut, wrapper } = plan;
  const printer = new Printer();
  const body = printer.print(query, "q");
  const sources = [0, 1].map((source) => {
    const tail = source === 0 ? "" : "2";
    const columns = (["ts", "k", "v", "f", "t"] as const).map(
      (name, at) =>
        `${name}${tail} ${[types.time, types.int, types.int, types.float, types.text][at]}`,
    );
    return `CREATE LOGICAL SOURCE s${source} (${columns.join(", ")}) WATERMARK(ts${tail}, ${boundMs} MS);`;
  });
  const physical = files.map(
    ({ source }, file) =>
      `CREATE PHYSICAL SOURCE FOR s${source} TYPE File SET('${path(file)}' AS "SOURCE".FILE_PATH${json ? ", 'JSON' AS INPUT_FORMATTER.TYPE" : ""});`,
  );
  const names = query.cols.map(({ name }) => name).join(", ");
  const sink = `Print(${jsonOut ? `'JSON' AS "SINK".OUTPUT_FORMAT` : ""})`;
  const statement = {
    sub: `SELECT ${names} FROM (${body}) INTO ${sink}`,
    with: `WITH w AS (${body}) SELECT ${names} FROM w INTO ${sink}`,
    view: `CREATE VIEW w AS ${body};\nSELECT ${names} FROM w INTO ${sink}`,
  }[wrapper];
  return [...sources, ...physical, `${statement};`].join("\n");
}

function exprText(expr: Expr, cols: readonly Col[]): string {
  const text = (inner: Expr): string => exprText(inner, cols);
  switch (expr.k) {
    case "col":
      return cols[expr.at]?.name ?? "?";
    case "lit":
      return typeof expr.value === "string" ? `'${expr.value}'` : String(expr.value);
    case "isNull":
      return `(${text(expr.a)} IS NULL)`;
    case "not":
      return `(NOT ${text(expr.a)})`;
    case "case":
      return `(CASE WHEN ${text(expr.when)} THEN ${text(expr.a)} ELSE ${text(expr.b)} END)`;
    case "op":
      if (expr.op === "COALESCE") return `COALESCE(${text(expr.a)}, ${text(expr.b)})`;
      if (expr.op === "LIKE")
        return `(${text(expr.a)} LIKE '${(expr.b as { value: string }).value}%')`;
      return `(${text(expr.a)} ${expr.op} ${text(expr.b)})`;
  }
}

function windowText({ kind, sizeMs, advanceMs }: Window, times: readonly string[]): string {
  const head = times.map((time) => `${time}, `).join("");
  if (kind === "session") return `WINDOW SESSION(${head}GAP ${sizeMs} MS)`;
  if (kind === "tumbling") return `WINDOW TUMBLING(${head}SIZE ${sizeMs} MS)`;
  return `WINDOW SLIDING(${head}SIZE ${sizeMs} MS, ADVANCE BY ${advanceMs} MS)`;
}

function aggText({ fn, arg, distinct, filter }: Agg, cols: readonly Col[]): string {
  const call =
    arg === undefined ? "COUNT(*)" : `${fn}(${distinct ? "DISTINCT " : ""}${cols[arg]?.name})`;
  return filter === undefined ? call : `${call} FILTER (WHERE ${exprText(filter, cols)})`;
}

class Printer {
  print(node: Node, alias: string): string {
    const { cols } = node;
    const as = (text: string, at: number): string => `${text} AS ${cols[at]?.name}`;
    const below = "of" in node ? node.of.cols : [];
    const from = "of" in node ? `(${this.print(node.of, `${alias}a`)})` : "";
    const plain = below.map(({ name }, at) => as(name, at));
    switch (node.op) {
      case "source":
        return `SELECT ${cols.map(({ name }) => name).join(", ")} FROM s${node.source}`;
      case "filter":
        return `SELECT ${below.map(({ name }) => name).join(", ")} FROM ${from} WHERE ${exprText(node.where, below)}`;
      case "project":
        return `SELECT ${node.exprs.map((expr, at) => as(exprText(expr, below), at)).join(", ")} FROM ${from}`;
      case "union":
        return `${this.print(node.of, `${alias}a`)} UNION ALL ${this.print(node.other, `${alias}b`)}`;
      case "aggregate": {
        const keys = node.keys.map((at) => below[at]?.name ?? "?");
        const items = ["start", "end", ...keys, ...node.aggs.map((agg) => aggText(agg, below))].map(
          as,
        );
        const group = keys.length === 0 ? "" : ` GROUP BY ${keys.join(", ")}`;
        const time = node.time === undefined ? [] : [below[node.time]?.name ?? "?"];
        const having = node.having ? ` HAVING COUNT(*) > 1` : "";
        return `SELECT ${items.join(", ")} FROM ${from}${group} ${windowText(node.window, time)}${having}`;
      }
      case "join": {
        const all = [...below, ...node.other.cols];
        const items = ["start", "end", ...all.map(({ name }) => name)].map(as);
        const times = [
          below[node.times[0]]?.name ?? "?",
          node.other.cols[node.times[1]]?.name ?? "?",
        ];
        const join = `${node.kind} JOIN (${this.print(node.other, `${alias}b`)}) AS ${alias}r`;
        return `SELECT ${items.join(", ")} FROM ${from} AS ${alias}l ${join} ON ${exprText(node.on, all)} ${windowText(node.window, times)}`;
      }
      case "interval": {
        const all = [...below, ...node.other.cols];
        const [left, right] = [below[node.times[0]]?.name, node.other.cols[node.times[1]]?.name];
        const bound = (ms: number): string => `${left} ${ms < 0 ? "-" : "+"} ${Math.abs(ms)} MS`;
        const join = `JOIN (${this.print(node.other, `${alias}b`)}) AS ${alias}r`;
        return `SELECT ${all.map(({ name }, at) => as(name, at)).join(", ")} FROM ${from} AS ${alias}l ${join} ON ${exprText(node.on, all)} AND ${right} BETWEEN ${bound(node.lowerMs)} AND ${bound(node.upperMs)}`;
      }
      case "keyed": {
        const ttl = node.ttlMs === undefined ? "" : ` STATE TTL ${node.ttlMs} MS`;
        const over = `OVER (PARTITION BY ${below[node.key]?.name} ORDER BY ${below[node.time]?.name}${ttl})`;
        if (node.fn === "dedupe")
          return `SELECT ${plain.join(", ")} FROM ${from} QUALIFY ROW_NUMBER() ${over} = 1`;
        const offset = node.fn === "LAG" ? `, ${node.offset}` : "";
        const call = `${node.fn}(${below[node.arg]?.name}${offset}) ${over}`;
        return `SELECT ${[...plain, as(call, below.length)].join(", ")} FROM ${from}`;
      }
      case "top": {
        const order = node.order.map(
          ({ at, descending }) => `${below[at]?.name}${descending ? " DESC" : ""}`,
        );
        const key = node.key === undefined ? "" : `PARTITION BY ${below[node.key]?.name} `;
        const qualify = `QUALIFY ROW_NUMBER() OVER (${key}ORDER BY ${order.join(", ")}) <= ${node.limit}`;
        const window =
          node.time === undefined
            ? ""
            : ` WINDOW TUMBLING(${below[node.time]?.name}, SIZE ${node.sizeMs} MS)`;
        return `SELECT ${plain.join(", ")} FROM ${from}${window} ${qualify}`;
      }
      case "lookup": {
        const items = [...plain, as("id", below.length), as("city", below.length + 1)];
        return `SELECT ${items.join(", ")} FROM ${from} ${node.left ? "LEFT " : ""}JOIN TABLE customers ON ${below[node.key]?.name} = id`;
      }
    }
  }
}
