/**
 * Column types in DuckDB's notation (`DECIMAL(10,2)`, `VARCHAR[]`, `STRUCT(a INTEGER)`) and in
 * DuckLake's: one type name per field, nested fields as separate rows. Ids are assigned depth
 * first, so a field's id follows from its column's.
 */
import { OperatingError } from "../../../ground/kernel/errors.ts";

/** A column or a nested field of one. Lists have a child `element`, maps `key` and `value`. */
export interface LakeField {
  readonly columnId: number;
  readonly parentId: number | undefined;
  readonly name: string;
  /** DuckLake's type name: `int64`, `decimal(10,2)`, `struct`. */
  readonly type: string;
  readonly children: readonly LakeField[];
}

const plainTypes: Readonly<Record<string, string>> = {
  BOOLEAN: "boolean",
  TINYINT: "int8",
  SMALLINT: "int16",
  INTEGER: "int32",
  BIGINT: "int64",
  HUGEINT: "int128",
  UTINYINT: "uint8",
  USMALLINT: "uint16",
  UINTEGER: "uint32",
  UBIGINT: "uint64",
  UHUGEINT: "uint128",
  FLOAT: "float32",
  DOUBLE: "float64",
  DATE: "date",
  TIME: "time",
  TIME_NS: "time_ns",
  "TIME WITH TIME ZONE": "timetz",
  TIMESTAMP: "timestamp",
  TIMESTAMP_S: "timestamp_s",
  TIMESTAMP_MS: "timestamp_ms",
  TIMESTAMP_NS: "timestamp_ns",
  "TIMESTAMP WITH TIME ZONE": "timestamptz",
  INTERVAL: "interval",
  VARCHAR: "varchar",
  BLOB: "blob",
  UUID: "uuid",
  JSON: "json",
};

/** DuckDB's aliases of these types. */
const aliases: Readonly<Record<string, string>> = {
  BOOL: "BOOLEAN",
  INT: "INTEGER",
  INT1: "TINYINT",
  INT2: "SMALLINT",
  INT4: "INTEGER",
  INT8: "BIGINT",
  LONG: "BIGINT",
  SHORT: "SMALLINT",
  REAL: "FLOAT",
  FLOAT4: "FLOAT",
  FLOAT8: "DOUBLE",
  TEXT: "VARCHAR",
  STRING: "VARCHAR",
  CHAR: "VARCHAR",
  BYTEA: "BLOB",
  BINARY: "BLOB",
  VARBINARY: "BLOB",
  DATETIME: "TIMESTAMP",
  TIMESTAMP_US: "TIMESTAMP",
  TIMESTAMPTZ: "TIMESTAMP WITH TIME ZONE",
  TIMETZ: "TIME WITH TIME ZONE",
  DECIMAL: "DECIMAL(18,3)",
  NUMERIC: "DECIMAL(18,3)",
};

const duckdbNames = new Map(Object.entries(plainTypes).map(([name, type]) => [type, name]));

interface TypeTree {
  readonly type: string;
  readonly children: readonly { readonly name: string; readonly tree: TypeTree }[];
}

/** The column with its nested fields. Throws `unsupported` for types unknown to DuckLake. */
export function fieldTree(name: string, duckdbType: string, columnId: number): LakeField {
  const parser = new TypeParser(duckdbType);
  const tree = parser.parse();
  let nextId = columnId;
  const build = (field: string, node: TypeTree, parentId: number | undefined): LakeField => {
    const id = nextId;
    nextId += 1;
    const children = node.children.map((child) => build(child.name, child.tree, id));
    return { columnId: id, parentId, name: field, type: node.type, children };
  };
  return build(name, tree, undefined);
}

/** The field, followed by its descendants. */
export function flattenField(field: LakeField): readonly LakeField[] {
  return [field, ...field.children.flatMap(flattenField)];
}

/** The ids of a new table's columns, in order. Nested fields use up ids too. */
export function assignColumnIds(columns: readonly { readonly type: string }[]): readonly number[] {
  let nextId = 1;
  return columns.map(({ type }) => {
    const id = nextId;
    nextId += flattenField(fieldTree("", type, id)).length;
    return id;
  });
}

/** The type in DuckDB's notation. */
export function duckdbTypeOf(field: Pick<LakeField, "type" | "children">): string {
  const type = field.type.toLowerCase();
  const [first, second] = field.children;
  if (type === "list" && first !== undefined) return `${duckdbTypeOf(first)}[]`;
  if (type === "map" && first !== undefined && second !== undefined) {
    return `MAP(${duckdbTypeOf(first)}, ${duckdbTypeOf(second)})`;
  }
  if (type === "struct") {
    const members = field.children.map(
      ({ name, ...rest }) => `${quoteName(name)} ${duckdbTypeOf(rest)}`,
    );
    return `STRUCT(${members.join(", ")})`;
  }
  if (type === "timestamp_us") return "TIMESTAMP";
  return duckdbNames.get(type) ?? type.toUpperCase();
}

export function isNested(type: string): boolean {
  return /^(struct|list|map)$/i.test(type);
}

/** Whether a text names a DuckLake type, nested parents included. */
export function isLakeType(type: string): boolean {
  const lower = type.toLowerCase();
  if (duckdbNames.has(lower) || isNested(lower)) return true;
  return /^decimal\(\d{1,2},\d{1,2}\)$|^(timestamp_us|variant|geometry)$/.test(lower);
}

function quoteName(name: string): string {
  return /^[a-z_][a-z0-9_]*$/.test(name) ? name : `"${name.replaceAll('"', '""')}"`;
}

/** A recursive-descent parser of DuckDB's own type notation and its common spellings. */
class TypeParser {
  readonly #text: string;
  #position = 0;

  constructor(text: string) {
    this.#text = text;
  }

  parse(): TypeTree {
    const tree = this.#type();
    if (this.#rest() !== "") throw this.#unsupported();
    return tree;
  }

  #type(): TypeTree {
    let tree = this.#simple();
    while (this.#take(/\[\s*\]/y) !== undefined) {
      tree = { type: "list", children: [{ name: "element", tree }] };
    }
    return tree;
  }

  #simple(): TypeTree {
    if (this.#take(/STRUCT\s*\(/iy) !== undefined) return this.#struct();
    if (this.#take(/MAP\s*\(/iy) !== undefined) {
      const key = this.#type();
      this.#must(/,/y);
      const value = this.#type();
      this.#must(/\)/y);
      return {
        type: "map",
        children: [
          { name: "key", tree: key },
          { name: "value", tree: value },
        ],
      };
    }
    const decimal = this.#take(/(?:DECIMAL|NUMERIC)\s*\(\s*\d+\s*(?:,\s*\d+\s*)?\)/iy);
    if (decimal !== undefined) return this.#decimal(decimal);
    if (this.#take(/(?:VARCHAR|CHAR)\s*\(\s*\d+\s*\)/iy) !== undefined) return leaf("varchar");
    const name = this.#take(/(?:TIMESTAMP|TIME)\s+WITH\s+TIME\s+ZONE|[A-Z_][A-Z0-9_]*/iy);
    const upper = name?.toUpperCase().replace(/\s+/g, " ") ?? "";
    const known = aliases[upper] ?? upper;
    if (known.startsWith("DECIMAL(")) return this.#decimal(known);
    const type = plainTypes[known];
    if (type === undefined) throw this.#unsupported();
    return leaf(type);
  }

  #struct(): TypeTree {
    const children: { name: string; tree: TypeTree }[] = [];
    do {
      const name = this.#take(/"(?:[^"]|"")*"|[^\s"(),]+/y);
      if (name === undefined) throw this.#unsupported();
      const isQuoted = name.startsWith('"');
      const plain = isQuoted ? name.slice(1, -1).replaceAll('""', '"') : name;
      children.push({ name: plain, tree: this.#type() });
    } while (this.#take(/,/y) !== undefined);
    this.#must(/\)/y);
    return { type: "struct", children };
  }

  #decimal(text: string): TypeTree {
    const [precision = 18, scale = 0] = (text.match(/\d+/g) ?? []).map(Number);
    if (precision < 1 || precision > 38 || scale > precision) throw this.#unsupported();
    return leaf(`decimal(${precision},${scale})`);
  }

  #take(pattern: RegExp): string | undefined {
    while (/\s/.test(this.#text[this.#position] ?? "")) this.#position += 1;
    pattern.lastIndex = this.#position;
    const match = pattern.exec(this.#text);
    if (match === null) return undefined;
    this.#position = pattern.lastIndex;
    return match[0];
  }

  #must(pattern: RegExp): void {
    if (this.#take(pattern) === undefined) throw this.#unsupported();
  }

  #rest(): string {
    return this.#text.slice(this.#position).trim();
  }

  #unsupported(): OperatingError {
    return new OperatingError(
      "unsupported",
      "never",
      `tables have no columns of type ${this.#text}`,
      {
        hint: "enumerations, unions, bit strings and arrays of fixed length have no place in the lake's format",
      },
    );
  }
}

function leaf(type: string): TypeTree {
  return { type, children: [] };
}
