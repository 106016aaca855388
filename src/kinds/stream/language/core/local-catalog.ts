/**
 * A catalog in memory, to which CREATE and DROP statements are applied. Names compare
 * case-insensitively; sources and views share their names.
 */
import { namesOfRelations } from "./bind/relation-names.ts";
import type {
  Catalog,
  LakeTable,
  LogicalSource,
  PhysicalSource,
  SinkDefinition,
  ViewDefinition,
} from "./catalog.ts";
import { readWorkerSettings } from "./connectors/worker-settings.ts";
import {
  defineLogicalSource,
  defineNamedSink,
  definePhysicalSource,
  defineView,
} from "./define-objects.ts";
import { DialectError, type DialectErrorNumber } from "./dialect-error.ts";
import type { DialectSettings } from "./dialect-settings.ts";
import type { AstName, Statement } from "./parse/ast.ts";
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
    const { name, ifNotExists } = statement;
    if (this.#isTaken(name, ifNotExists)) return;
    const source = defineLogicalSource(statement, this, this.#dialect);
    this.#sources.set(name.text.toUpperCase(), source);
  }

  #createPhysicalSource(statement: Of<"createPhysicalSource">): void {
    const defined = definePhysicalSource(statement, this, this.#dialect);
    const reading = JSON.stringify({ ...defined, logical: defined.logical.toUpperCase() });
    if (this.#readings.has(reading)) {
      if (statement.ifNotExists) return;
      throw new DialectError(2031, `the source ${defined.logical} already reads from there`, {
        position: statement.position,
      });
    }
    this.#lastId += 1;
    this.#readings.set(reading, this.#lastId);
    this.#physical.set(this.#lastId, { id: this.#lastId, ...defined });
  }

  #createSink(statement: Of<"createSink">): void {
    const { name } = statement;
    if (this.sink(name.text) !== undefined) {
      if (statement.ifNotExists) return;
      throw new DialectError(2034, `the sink ${name.text} exists already`, {
        position: name.position,
      });
    }
    this.#sinks.set(name.text.toUpperCase(), defineNamedSink(statement, this.#dialect));
  }

  #createView(statement: Of<"createView">): void {
    const { name, ifNotExists } = statement;
    if (this.#isTaken(name, ifNotExists)) return;
    this.#views.set(name.text.toUpperCase(), defineView(statement, this, this.#dialect));
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
