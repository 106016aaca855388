/**
 * A catalog in memory, to which CREATE and DROP statements are applied. Names compare
 * case-insensitively; sources and views share their names.
 */

import { schemaOfQuery } from "./bind/plan-query.ts";
import { namesOfRelations } from "./bind/relation-names.ts";
import type {
  Catalog,
  LakeTable,
  LogicalSource,
  PhysicalSource,
  SinkDefinition,
  ViewDefinition,
} from "./catalog.ts";
import { defineSink, defineSource, schemaOf } from "./connectors/define.ts";
import { readWorkerSettings } from "./connectors/worker-settings.ts";
import { isInteger, type Schema } from "./data-type.ts";
import { DialectError, type DialectErrorNumber, type Position } from "./dialect-error.ts";
import type { DialectSettings } from "./dialect-settings.ts";
import type { AstName, AstWatermark, Statement } from "./parse/ast.ts";
import { didYouMean } from "./suggest.ts";

type Of<K extends Statement["kind"]> = Extract<Statement, { readonly kind: K }>;

export class LocalCatalog implements Catalog {
  readonly #dialect: DialectSettings;
  readonly #sources = new Map<string, LogicalSource>();
  readonly #physical = new Map<number, PhysicalSource>();
  /** What each physical source reads, so that none is made twice. */
  readonly #readings = new Map<string, number>();
  readonly #sinks = new Map<string, SinkDefinition>();
  readonly #views = new Map<string, ViewDefinition>();
  readonly #tables = new Map<string, LakeTable>();
  readonly #workers = new Set<string>();
  #lastId = 0;

  readonly hasLake: boolean;

  /** `tables` are those of the lake; absent where there is none. */
  constructor(dialect: DialectSettings, tables?: readonly LakeTable[]) {
    this.hasLake = tables !== undefined;
    this.#dialect = dialect;
    for (const table of tables ?? []) this.#tables.set(table.name.toUpperCase(), table);
  }

  logicalSource(name: string): LogicalSource | undefined {
    return this.#sources.get(name.toUpperCase());
  }

  physicalSources(logical: string): readonly PhysicalSource[] {
    const key = logical.toUpperCase();
    return [...this.#physical.values()].filter((one) => one.logical.toUpperCase() === key);
  }

  sink(name: string): SinkDefinition | undefined {
    return this.#sinks.get(name.toUpperCase());
  }

  view(name: string): ViewDefinition | undefined {
    return this.#views.get(name.toUpperCase());
  }

  table(name: string): LakeTable | undefined {
    return this.#tables.get(name.toUpperCase());
  }

  names(kind: "source" | "sink" | "table"): readonly string[] {
    if (kind === "sink") return [...this.#sinks.values()].map(({ name }) => name);
    if (kind === "table") return [...this.#tables.values()].map(({ name }) => name);
    return [...this.#sources.values(), ...this.#views.values()].map(({ name }) => name);
  }

  /** Applies a statement; `false` where it is no CREATE or DROP of this catalog. */
  apply(statement: Statement): boolean {
    switch (statement.kind) {
      case "createLogicalSource":
        this.#createLogicalSource(statement);
        return true;
      case "createPhysicalSource":
        this.#createPhysicalSource(statement);
        return true;
      case "createSink":
        this.#createSink(statement);
        return true;
      case "createView":
        this.#createView(statement);
        return true;
      case "createWorker":
        this.#createWorker(statement);
        return true;
      case "drop":
        return this.#drop(statement);
      default:
        return false;
    }
  }

  #createLogicalSource(statement: Of<"createLogicalSource">): void {
    const { name, query, fields } = statement;
    if (this.#isTaken(name, statement.ifNotExists)) return;
    const schema =
      query === undefined ? schemaOf(fields ?? []) : schemaOfQuery(query, this, this.#dialect);
    const watermark = statement.watermark && watermarkOf(statement.watermark, schema);
    this.#sources.set(name.text.toUpperCase(), { name: name.text, schema, watermark, query });
  }

  #createPhysicalSource(statement: Of<"createPhysicalSource">): void {
    const { logical, type, settings } = statement;
    const source = this.logicalSource(logical.text);
    if (source === undefined) throw this.#unknown(2030, "logical source", logical, "source");
    if (source.query !== undefined) {
      throw new DialectError(2029, `the source ${source.name} is made by a query`, {
        position: logical.position,
      });
    }
    const { dialect } = { dialect: this.#dialect };
    const { schema: _, ...defined } = defineSource(
      type.text,
      settings,
      dialect,
      2017,
      type.position,
    );
    checkPaths(defined.parser, source.schema, statement.position);
    const reading = JSON.stringify([source.name.toUpperCase(), defined]);
    if (this.#readings.has(reading)) {
      if (statement.ifNotExists) return;
      throw new DialectError(2031, `the source ${source.name} already reads from there`, {
        position: statement.position,
      });
    }
    this.#lastId += 1;
    this.#readings.set(reading, this.#lastId);
    this.#physical.set(this.#lastId, { id: this.#lastId, logical: source.name, ...defined });
  }

  #createSink(statement: Of<"createSink">): void {
    const { name, fields, type, settings } = statement;
    if (this.sink(name.text) !== undefined) {
      if (statement.ifNotExists) return;
      throw new DialectError(2034, `the sink ${name.text} exists already`, {
        position: name.position,
      });
    }
    const defined = defineSink(type.text, settings, this.#dialect, 2016, type.position);
    const schema = fields === undefined ? defined.schema : schemaOf(fields);
    this.#sinks.set(name.text.toUpperCase(), { ...defined, name: name.text, schema });
  }

  #createView(statement: Of<"createView">): void {
    const { name, query } = statement;
    if (this.#isTaken(name, statement.ifNotExists)) return;
    schemaOfQuery(query, this, this.#dialect);
    this.#views.set(name.text.toUpperCase(), { name: name.text, query });
  }

  #createWorker({ name, ifNotExists, settings, position }: Of<"createWorker">): void {
    const key = name.text.toUpperCase();
    if (this.#workers.has(key)) {
      if (ifNotExists) return;
      throw new DialectError(2029, `the worker ${name.text} exists already`, {
        position: name.position,
      });
    }
    readWorkerSettings(settings, position);
    this.#workers.add(key);
  }

  #isTaken(name: AstName, ifNotExists: boolean): boolean {
    const found = this.logicalSource(name.text) ?? this.view(name.text);
    if (found === undefined || ifNotExists) return found !== undefined;
    throw new DialectError(2031, `the source ${found.name} exists already`, {
      position: name.position,
    });
  }

  #drop(statement: Of<"drop">): boolean {
    const { object, name, ifExists } = statement;
    const key = name.text.toUpperCase();
    switch (object) {
      case "logical source":
        if (!this.#sources.has(key)) return this.#missing(2030, object, name, ifExists, "source");
        this.#refuseIfUsed(name);
        this.#sources.delete(key);
        return true;
      case "view":
        if (!this.#views.has(key)) return this.#missing(2030, object, name, ifExists, "source");
        this.#refuseIfUsed(name);
        this.#views.delete(key);
        return true;
      case "sink":
        if (!this.#sinks.delete(key)) this.#missing(2033, object, name, ifExists, "sink");
        return true;
      case "physical source":
        if (!this.#physical.delete(Number(key))) {
          this.#missing(2030, object, name, ifExists, "source");
        }
        for (const [reading, id] of this.#readings) {
          if (id === Number(key)) this.#readings.delete(reading);
        }
        return true;
      case "worker":
        if (this.#workers.delete(key) || ifExists) return true;
        throw new DialectError(2302, `there is no worker ${name.text}`, {
          position: name.position,
          hint: didYouMean(name.text, this.#workers),
        });
      default:
        return false;
    }
  }

  #missing(
    number: DialectErrorNumber,
    object: string,
    name: AstName,
    ifExists: boolean,
    kind: "source" | "sink",
  ): true {
    if (ifExists) return true;
    throw this.#unknown(number, object, name, kind);
  }

  #unknown(
    number: DialectErrorNumber,
    object: string,
    { text, position }: AstName,
    kind: "source" | "sink",
  ): DialectError {
    const hint = didYouMean(text, this.names(kind));
    return new DialectError(number, `there is no ${object} ${text}`, { position, hint });
  }

  /** What a physical source, a view or a query-made source stands on stays. */
  #refuseIfUsed(name: AstName): void {
    const users = [
      ...this.physicalSources(name.text).map(({ id }) => `the physical source ${id}`),
      ...[...this.#views.values(), ...this.#sources.values()]
        .filter(({ query }) => query && namesOfRelations(query).has(name.text.toUpperCase()))
        .map((one) => one.name),
    ];
    if (users.length === 0) return;
    throw new DialectError(2029, `${name.text} is used by ${users.join(", ")}`, {
      position: name.position,
      hint: "Drop what uses it first.",
    });
  }
}

function watermarkOf(
  { column, boundMs, position }: AstWatermark,
  schema: Schema,
): LogicalSource["watermark"] {
  const name = column.kind === "name" ? column.name.toUpperCase() : undefined;
  const index = schema.findIndex((field) => field.name.toUpperCase() === name);
  const type = schema[index]?.type.name;
  if (type === undefined || !isInteger(type)) {
    const what = type === undefined ? "" : `, and ${schema[index]?.name} is ${type}`;
    throw new DialectError(2003, `WATERMARK takes an integer column of the source${what}`, {
      position,
      hint: "A time is milliseconds since 1970, in a column such as ts UINT64.",
    });
  }
  return { column: index, boundMs };
}

function checkPaths(parser: PhysicalSource["parser"], schema: Schema, position: Position): void {
  const names = schema.map(({ name }) => name);
  const paths = Object.keys(parser).flatMap((key) =>
    key.startsWith("FIELD.") ? key.slice(6) : [],
  );
  for (const name of paths) {
    if (names.some((one) => one.toUpperCase() === name.toUpperCase())) continue;
    throw new DialectError(1000, `the source has no column ${name}`, {
      position,
      hint: didYouMean(name, names),
    });
  }
}
