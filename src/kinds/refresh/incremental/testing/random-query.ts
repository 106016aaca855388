/**
 * Random SELECTs over random schemas, in all shapes that planning supports and some that it
 * refuses. Each result depends on its rows alone: window orders include all columns, sums are
 * exact.
 */
import type { Prng } from "../../../../ground/kernel/prng.ts";
import type { SourceSchema } from "../inline.ts";

export interface Typed {
  readonly sql: string;
  readonly type: string;
}

interface Query {
  readonly sql: string;
  readonly columns: readonly { readonly name: string; readonly type: string }[];
}

const types = [
  "INTEGER",
  "BIGINT",
  "DECIMAL(8,2)",
  "DOUBLE",
  "VARCHAR",
  "BOOLEAN",
  "DATE",
  "HUGEINT",
  "DECIMAL(38,18)",
  "TIMESTAMP WITH TIME ZONE",
  "UUID",
  "BLOB",
  "INTEGER[]",
  "STRUCT(a INTEGER, b VARCHAR)",
] as const;

const literals: Readonly<Record<string, readonly string[]>> = {
  INTEGER: ["0", "1", "2", "3"],
  BIGINT: ["-1", "5", "9007199254740993"],
  "DECIMAL(8,2)": ["0.25", "1.10", "-3.33"],
  DOUBLE: ["0.5", "1e10", "-1.5", "2.0", "-0.0", "0.0", "'nan'"],
  VARCHAR: ["'a'", "'b'", "''", "'A'"],
  BOOLEAN: ["true", "false"],
  DATE: ["DATE '2024-01-01'", "DATE '2024-02-29'", "DATE '1969-12-31'"],
  HUGEINT: ["-1", "18446744073709551616"],
  "DECIMAL(38,18)": ["250.25", "-12345.000000000000000001"],
  "TIMESTAMP WITH TIME ZONE": ["'2024-03-31 01:30:00+01'", "'1969-12-31 23:59:59.999999+00'"],
  UUID: ["'00000000-0000-0000-0000-000000000001'", "'ffffffff-0000-0000-0000-000000000000'"],
  BLOB: ["'\\x00\\xFF'::BLOB", "''::BLOB"],
  "INTEGER[]": ["[]::INTEGER[]", "[1, NULL]", "[NULL]::INTEGER[]"],
  "STRUCT(a INTEGER, b VARCHAR)": ["{a: 1, b: 'x'}", "{a: NULL::INTEGER, b: NULL::VARCHAR}"],
};

export function pick<Value>(prng: Prng, values: readonly Value[]): Value {
  const value = values[prng.below(values.length)];
  if (value === undefined) throw new Error("nothing to pick from");
  return value;
}

export function chance(prng: Prng, percent: number): boolean {
  return prng.below(100) < percent;
}

/** A random literal; NULL in a quarter of cases. */
export function randomLiteral(prng: Prng, type: string): string {
  return chance(prng, 25) ? "NULL" : pick(prng, literals[type] ?? ["NULL"]);
}

export function randomSchemas(prng: Prng): readonly SourceSchema[] {
  return Array.from({ length: 2 + prng.below(2) }, (_, table) => ({
    schema: undefined,
    name: `t${table}`,
    columns: [
      { name: "k", type: "INTEGER" },
      { name: "g", type: "VARCHAR" },
      ...Array.from({ length: 1 + prng.below(4) }, (_, column) => ({
        name: `c${column}`,
        type: pick(prng, types),
      })),
    ],
  }));
}

/** Generates one SELECT. */
export class QueryGenerator {
  readonly #prng: Prng;
  readonly #sources: readonly SourceSchema[];
  #leaves = 0;

  constructor(prng: Prng, sources: readonly SourceSchema[]) {
    this.#prng = prng;
    this.#sources = sources;
  }

  definition(): string {
    const prng = this.#prng;
    const depth = pick(prng, [0, 0, 0, 0, 0, 0, 1, 1, 1, 2]);
    const { sql } = this.#query(depth);
    if (!chance(prng, 15)) return sql;
    const cte = this.#query(0);
    const keys = cte.columns.map(({ name }) => name).join(", ");
    const grouped = `WITH w AS (${cte.sql}) SELECT ${keys}, count(*) AS n FROM w GROUP BY ALL`;
    const key = cte.columns.find(({ type }) => type === "INTEGER" || type === "VARCHAR");
    if (key === undefined || chance(prng, 40)) return grouped;
    const other = key.type === "INTEGER" ? "k" : "g";
    return pick(prng, [
      `WITH w AS (${cte.sql}) SELECT x.* FROM w AS x JOIN t0 ON x.${key.name} IS NOT DISTINCT FROM t0.${other}`,
      `WITH w(${other}) AS (SELECT ${key.name} FROM (${cte.sql})) SELECT * FROM t0 LEFT JOIN w USING (${other})`,
      `WITH w(${other}) AS (SELECT ${key.name} FROM (${cte.sql})) SELECT ${other}, count(*) FROM t0 FULL JOIN w USING (${other}) GROUP BY ${other}`,
    ]);
  }

  #query(depth: number): Query {
    const kind = this.#prng.below(100);
    if (kind < 26) return this.#plain(depth);
    if (kind < 64) return this.#grouped(depth);
    if (kind < 75) return this.#distinct(depth);
    if (kind < 88) return this.#windowed(depth);
    return this.#set(depth);
  }

  #leaf(depth: number): {
    readonly sql: string;
    readonly alias: string;
    readonly columns: readonly Typed[];
  } {
    const prng = this.#prng;
    this.#leaves += 1;
    const alias = `l${this.#leaves}`;
    const typed = (columns: Query["columns"]) =>
      columns.map(({ name, type }) => ({ sql: `${alias}.${name}`, type }));
    if (depth > 0 && chance(prng, 55)) {
      const inner = this.#query(depth - 1);
      return { sql: `(${inner.sql}) AS ${alias}`, alias, columns: typed(inner.columns) };
    }
    if (chance(prng, 3)) {
      const sql = `(VALUES (1, 'a'), (2, NULL)) AS ${alias}(k, g)`;
      const columns = [
        { name: "k", type: "INTEGER" },
        { name: "g", type: "VARCHAR" },
      ];
      return { sql, alias, columns: typed(columns) };
    }
    const source = pick(prng, this.#sources);
    return { sql: `${source.name} AS ${alias}`, alias, columns: typed(source.columns) };
  }

  /** A FROM with up to three leaves, fewer in deep subqueries. */
  #from(depth: number): { readonly sql: string; readonly columns: readonly Typed[] } {
    const prng = this.#prng;
    const first = this.#leaf(depth);
    let { sql } = first;
    let columns = first.columns;
    const joins = chance(prng, 40) ? 1 + (chance(prng, 25) ? 1 : 0) : 0;
    for (let join = 0; join < joins; join += 1) {
      const right = this.#leaf(depth);
      const condition = this.#joinCondition(columns, right.columns);
      if (condition === undefined) continue;
      const kind = pick(prng, [
        ...["JOIN", "JOIN", "JOIN", "LEFT JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"],
        ...["SEMI JOIN", "ANTI JOIN"],
      ]);
      sql = `${sql} ${kind} ${right.sql} ON ${condition}`;
      if (kind !== "SEMI JOIN" && kind !== "ANTI JOIN") columns = [...columns, ...right.columns];
    }
    return { sql, columns };
  }

  #joinCondition(left: readonly Typed[], right: readonly Typed[]): string | undefined {
    const prng = this.#prng;
    const pairs = left.flatMap((one) =>
      right
        .filter(({ type }) => type === one.type && literals[type] !== undefined)
        .map((other) => ({ one, other })),
    );
    if (pairs.length === 0) return undefined;
    const conditions: string[] = [];
    for (let count = chance(prng, 25) ? 2 : 1; count > 0; count -= 1) {
      const { one, other } = pick(prng, pairs);
      const comparison = chance(prng, 15) ? "IS NOT DISTINCT FROM" : "=";
      conditions.push(`${one.sql} ${comparison} ${other.sql}`);
    }
    if (chance(prng, 20)) {
      const { one, other } = pick(prng, pairs);
      conditions.push(`${one.sql} ${pick(prng, ["<", ">=", "<>"])} ${other.sql}`);
    }
    if (chance(prng, 10)) conditions.push(this.#predicate(pick(prng, [left, right])));
    return conditions.join(" AND ");
  }

  #predicate(columns: readonly Typed[]): string {
    const prng = this.#prng;
    const { sql, type } = pick(prng, columns);
    const known = literals[type];
    const kind = prng.below(8);
    if (kind === 0 || known === undefined) return `${sql} IS NOT NULL`;
    if (kind === 1) return `coalesce(${sql}, ${pick(prng, known)}) <> ${pick(prng, known)}`;
    if (kind === 2) return `(${this.#predicate(columns)} OR ${this.#predicate(columns)})`;
    if (kind === 3) return `${sql} IN (${pick(prng, known)}, ${pick(prng, known)})`;
    return `${sql} ${pick(prng, ["=", "<>", "<", ">="])} ${pick(prng, known)}`;
  }

  #where(columns: readonly Typed[]): string {
    const prng = this.#prng;
    const conditions: string[] = [];
    if (chance(prng, 40)) conditions.push(this.#predicate(columns));
    if (chance(prng, 8)) {
      const source = pick(prng, this.#sources);
      const keys = columns.filter(({ type }) => type === "INTEGER");
      if (keys.length > 0) {
        const key = pick(prng, keys).sql;
        const condition = pick(prng, [
          `${key} IN (SELECT k FROM ${source.name} WHERE g = 'a')`,
          `EXISTS (SELECT 1 FROM ${source.name} AS e WHERE e.k = ${key} AND e.g IS NOT NULL)`,
          `NOT EXISTS (SELECT 1 FROM ${source.name} AS e WHERE e.k = ${key})`,
        ]);
        conditions.push(condition);
      }
    }
    return conditions.length === 0 ? "" : ` WHERE ${conditions.join(" AND ")}`;
  }

  #expression(columns: readonly Typed[]): Typed {
    const prng = this.#prng;
    const column = pick(prng, columns);
    const { sql, type } = column;
    switch (chance(prng, 30) ? type : "") {
      case "INTEGER":
        return { sql: pick(prng, [`${sql} % 2`, `coalesce(${sql}, 9)`]), type };
      case "VARCHAR":
        return { sql: pick(prng, [`upper(${sql})`, `coalesce(${sql}, 'z')`]), type };
      case "DATE":
        return { sql: `date_part('month', ${sql})`, type: "BIGINT" };
      case "BOOLEAN":
        return { sql: `CASE WHEN ${sql} THEN 1 ELSE 2 END`, type: "INTEGER" };
      default:
        return column;
    }
  }

  #some(columns: readonly Typed[], max: number): readonly Typed[] {
    return Array.from({ length: 1 + this.#prng.below(max) }, () => this.#expression(columns));
  }

  #named(items: readonly Typed[]): { readonly list: string; readonly columns: Query["columns"] } {
    return {
      list: items.map(({ sql }, index) => `${sql} AS o${index}`).join(", "),
      columns: items.map(({ type }, index) => ({ name: `o${index}`, type })),
    };
  }

  #plain(depth: number): Query {
    const from = this.#from(depth);
    const { list, columns } = this.#named(this.#some(from.columns, 4));
    return { sql: `SELECT ${list} FROM ${from.sql}${this.#where(from.columns)}`, columns };
  }

  #aggregate(columns: readonly Typed[]): Typed {
    const prng = this.#prng;
    const { sql, type } = pick(prng, columns);
    const isNumber = /^(INTEGER|BIGINT|HUGEINT|DECIMAL.*|DOUBLE)$/.test(type);
    const isExact = isNumber && type !== "DOUBLE";
    const filter = chance(prng, 12) ? ` FILTER (WHERE ${this.#predicate(columns)})` : "";
    switch (prng.below(9)) {
      case 0:
        return { sql: `count(*)${filter}`, type: "BIGINT" };
      case 1:
        return { sql: `count(${sql})${filter}`, type: "BIGINT" };
      case 2:
        return { sql: `count(DISTINCT ${sql})`, type: "BIGINT" };
      case 3:
        return { sql: `min(${sql})${filter}`, type };
      case 4:
        return { sql: `max(${sql})${filter}`, type };
      case 5:
        return isNumber
          ? { sql: `avg(${sql})${filter}`, type: "avg" }
          : { sql: "count(*)", type: "BIGINT" };
      case 6:
        return { sql: `list(${sql} ORDER BY ${sql})`, type: "list" };
      default:
        return isNumber
          ? { sql: `sum(${sql})${filter}`, type: isExact ? "sum" : "DOUBLE" }
          : { sql: `count(${sql})`, type: "BIGINT" };
    }
  }

  #grouped(depth: number): Query {
    const prng = this.#prng;
    const from = this.#from(depth);
    const keys = chance(prng, 8) ? [] : this.#some(from.columns, 3);
    const onlyMerged = chance(prng, 50);
    const aggregates = Array.from({ length: 1 + prng.below(3) }, () => {
      let aggregate = this.#aggregate(from.columns);
      for (let attempt = 0; onlyMerged && attempt < 8; attempt += 1) {
        if (/^(sum|count|avg|min|max)\((?!DISTINCT)/.test(aggregate.sql)) break;
        aggregate = this.#aggregate(from.columns);
      }
      return aggregate;
    });
    // A key that is not selected must be stored too.
    const shown = keys.filter(() => chance(prng, 85));
    const items = [...shown, ...aggregates];
    if (chance(prng, 15)) items.push({ sql: `${aggregates[0]?.sql} IS NULL`, type: "BOOLEAN" });
    if (chance(prng, 10)) items.push({ sql: "count(*) * 2 + count(*)", type: "BIGINT" });
    const { list, columns } = this.#named(items);
    const group =
      keys.length === 0
        ? ""
        : shown.length === keys.length && chance(prng, 30)
          ? ` GROUP BY ${pick(prng, ["ALL", keys.map((_, index) => index + 1).join(", ")])}`
          : ` GROUP BY ${keys.map(({ sql }) => sql).join(", ")}`;
    const having = chance(prng, 15)
      ? ` HAVING ${pick(prng, ["count(*) > 1", "count(*) < 3"])}`
      : "";
    return {
      sql: `SELECT ${list} FROM ${from.sql}${this.#where(from.columns)}${group}${having}`,
      columns,
    };
  }

  #distinct(depth: number): Query {
    const from = this.#from(depth);
    const { list, columns } = this.#named(this.#some(from.columns, 3));
    return { sql: `SELECT DISTINCT ${list} FROM ${from.sql}${this.#where(from.columns)}`, columns };
  }

  #windowed(depth: number): Query {
    const prng = this.#prng;
    const from = this.#from(depth);
    const partition = this.#some(from.columns, 2);
    const order = from.columns.map(({ sql }) => sql).join(", ");
    const by = `PARTITION BY ${partition.map(({ sql }) => sql).join(", ")}`;
    const { sql } = pick(prng, from.columns);
    const windows: Typed[] = [
      { sql: `row_number() OVER (${by} ORDER BY ${order})`, type: "BIGINT" },
      { sql: `rank() OVER (${by} ORDER BY ${sql})`, type: "BIGINT" },
      { sql: `count(${sql}) OVER (${by})`, type: "BIGINT" },
      { sql: `lag(${sql}) OVER (${by} ORDER BY ${order})`, type: "other" },
      { sql: `max(${sql}) OVER (${by} ORDER BY ${order})`, type: "other" },
    ];
    const shown = this.#some(from.columns, 3);
    const items = [
      ...shown,
      ...Array.from({ length: 1 + prng.below(2) }, () => pick(prng, windows)),
    ];
    const { list, columns } = this.#named(items);
    const qualify = chance(prng, 35)
      ? ` QUALIFY row_number() OVER (${by} ORDER BY ${order}) <= ${1 + prng.below(2)}`
      : "";
    return {
      sql: `SELECT ${list} FROM ${from.sql}${this.#where(from.columns)}${qualify}`,
      columns,
    };
  }

  #set(depth: number): Query {
    const prng = this.#prng;
    const operator = pick(prng, [
      ...["UNION ALL", "UNION ALL", "UNION ALL", "UNION", "UNION"],
      ...["EXCEPT", "EXCEPT ALL", "INTERSECT", "INTERSECT ALL"],
    ]);
    const width = 1 + prng.below(2);
    const branches = Array.from({ length: chance(prng, 20) ? 3 : 2 }, () => {
      const query = this.#query(Math.max(0, depth - 1));
      const items = Array.from({ length: width }, (_, index) => {
        const column = pick(prng, query.columns);
        return index === 0 ? `CAST(q.${column.name} AS VARCHAR) AS o0` : `q.${column.name} AS o1`;
      });
      return { items, query };
    });
    // The second column keeps its type where all branches have a column of that type.
    const sql = branches
      .map(({ items, query }) => {
        const [first, second] = items;
        const rest =
          second === undefined ? [] : [second.replace(/^q\.(\w+)/, "CAST(q.$1 AS VARCHAR)")];
        return `SELECT ${[first, ...rest].join(", ")} FROM (${query.sql}) AS q`;
      })
      .join(` ${operator} `);
    const columns = Array.from({ length: width }, (_, index) => ({
      name: `o${index}`,
      type: "VARCHAR",
    }));
    return { sql, columns };
  }
}
