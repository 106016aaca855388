/** Templates in the control store. Rules: KT1 to KT5. */
import { assert, OperatingError } from "../../../../ground/kernel/errors.ts";
import { type Prng, randomText } from "../../../../ground/kernel/prng.ts";
import type { Store, Tx } from "../../../../ground/store/index.ts";
import type { LoadMode } from "../../core/scenario.ts";
import { readNow } from "../../store/run-rows.ts";
import type { PoolValue, TargetKind, TemplateDocument } from "../document.ts";
import { parseTemplate } from "../parse-template.ts";
import { readyTemplates } from "../ready/index.ts";
import { copyPools, type PoolSize, poolSizes, readPool, writePool } from "./value-pools.ts";

export interface TemplateSummary {
  readonly template_id: string;
  readonly template_name: string;
  readonly description: string;
  readonly is_built_in: boolean;
  readonly created_at_ms: number;
  readonly updated_at_ms: number;
}

/** As lists show it: what it loads, and how. */
export interface ListedTemplate extends TemplateSummary {
  readonly target_kind: TargetKind;
  readonly load_mode: LoadMode;
  readonly concurrent_connections: number;
  readonly target_qps: number | null;
  readonly duration_seconds: number;
  readonly operations: readonly string[];
}

export interface Template extends TemplateSummary {
  /** Without its pools' values. */
  readonly document: TemplateDocument;
  readonly pools: readonly PoolSize[];
}

type Db = Tx["db"];

export class TemplateStore {
  readonly #store: Store;
  readonly #prng: Prng;

  constructor(store: Store, prng: Prng) {
    this.#store = store;
    this.#prng = prng;
  }

  /** The product's own first, then by name. */
  async list(): Promise<readonly ListedTemplate[]> {
    const rows = await this.#store.read(({ db }) =>
      db
        .selectFrom("test_templates")
        .select(["template_id", "template_name", "description", "is_built_in"])
        .select(["created_at_ms", "updated_at_ms", "config"])
        .orderBy("is_built_in", "desc")
        .orderBy("template_name")
        .execute(),
    );
    return rows.map(({ config, ...row }) => ({
      ...row,
      is_built_in: row.is_built_in === 1,
      ...listedOf(JSON.parse(config) as TemplateDocument),
    }));
  }

  /** Undefined when there is no such template. */
  get(templateId: string): Promise<Template | undefined> {
    return this.#store.read(({ db }) => readTemplateRow(db, templateId));
  }

  /** `bad_request` with every problem; `already_exists` when the name is taken. */
  async create(input: unknown): Promise<Template> {
    const document = parseTemplate(input);
    const templateId = this.#newId();
    return await this.#store.transaction(async ({ db }) => {
      await insertTemplate(db, { ...document, template_id: templateId }, false);
      return await requireTemplate(db, templateId);
    });
  }

  /** Under another name; `name (copy)`, or the next that is free, unless given. */
  copy(templateId: string, name?: string): Promise<Template> {
    const copyId = this.#newId();
    return this.#store.transaction(async ({ db }) => {
      const { document } = await requireTemplate(db, templateId);
      const copy = {
        ...document,
        template_id: copyId,
        template_name: name ?? (await freeName(db, `${document.template_name} (copy)`)),
      };
      await insertTemplate(db, copy, false);
      await copyPools(db, templateId, copyId);
      return await requireTemplate(db, copyId);
    });
  }

  /**
   * `seenMs`: the `updated_at_ms` that the change was made on; `conflict` when there is a newer
   * one.
   */
  update(templateId: string, input: unknown, seenMs?: number): Promise<Template> {
    return this.#store.transaction(async ({ db }) => {
      const old = await requireOwn(db, templateId);
      if (seenMs !== undefined && seenMs !== old.updated_at_ms) {
        throw new OperatingError(
          "conflict",
          "never",
          `the template ${old.template_name} was changed meanwhile`,
          { hint: "Load it again, and make your change on that." },
        );
      }
      const document = parseTemplate(
        input,
        old.pools.map(({ pool }) => pool),
      );
      await refuseTaken(db, document.template_name, templateId);
      await db
        .updateTable("test_templates")
        .set({
          ...columnsOf({ ...document, template_id: templateId }),
          updated_at_ms: Math.max(await readNow({ db }), old.updated_at_ms + 1),
        })
        .where("template_id", "=", templateId)
        .execute();
      await writePools(db, templateId, document.pools);
      return await requireTemplate(db, templateId);
    });
  }

  delete(templateId: string): Promise<void> {
    return this.#store.transaction(async ({ db }) => {
      await requireOwn(db, templateId);
      await db.deleteFrom("test_templates").where("template_id", "=", templateId).execute();
    });
  }

  /** All of its values, for workers. `undefined`: there is no such pool. */
  pool(templateId: string, pool: string): Promise<readonly PoolValue[] | undefined> {
    return this.#store.read(({ db }) => readPool(db, templateId, pool));
  }

  /** Replaces the pool's values. */
  setPool(templateId: string, pool: string, values: readonly PoolValue[]): Promise<void> {
    return this.#store.transaction(async ({ db }) => {
      await requireOwn(db, templateId);
      await writePool(db, templateId, pool, values);
    });
  }

  /** Stores the built-in templates; a name that a user has taken stays theirs (KT3). */
  async seed(): Promise<void> {
    const ready = readyTemplates();
    const ids = ready.map(({ template_id: id }) => id);
    await this.#store.transaction(async ({ db }) => {
      await db
        .deleteFrom("test_templates")
        .where("is_built_in", "=", 1)
        .where("template_id", "not in", ids)
        .execute();
      for (const template of ready) await seedOne(db, template);
    });
  }

  #newId(): string {
    return `t-${randomText(this.#prng, 12)}`;
  }
}

async function seedOne(db: Db, template: TemplateDocument): Promise<void> {
  const id = idOf(template);
  const old = await readRow(db, id);
  const name = await freeName(db, template.template_name, " (ready)", id);
  const document = { ...template, template_name: name };
  if (old === undefined) {
    await insertTemplate(db, document, true);
    return;
  }
  const columns = columnsOf(document);
  if (old.config === columns.config && old.description === columns.description) return;
  await db
    .updateTable("test_templates")
    .set({ ...columns, updated_at_ms: await readNow({ db }) })
    .where("template_id", "=", id)
    .execute();
}

async function insertTemplate(
  db: Db,
  document: TemplateDocument,
  isBuiltIn: boolean,
): Promise<void> {
  await refuseTaken(db, document.template_name);
  const now = await readNow({ db });
  await db
    .insertInto("test_templates")
    .values({
      template_id: idOf(document),
      ...columnsOf(document),
      is_built_in: isBuiltIn ? 1 : 0,
      created_at_ms: now,
      updated_at_ms: now,
    })
    .execute();
  await writePools(db, idOf(document), document.pools);
}

async function writePools(
  db: Db,
  templateId: string,
  pools: TemplateDocument["pools"],
): Promise<void> {
  for (const [pool, values] of Object.entries(pools)) {
    await writePool(db, templateId, pool, values);
  }
}

function columnsOf(document: TemplateDocument) {
  const { template_name, description } = document;
  return { template_name, description, config: JSON.stringify({ ...document, pools: {} }) };
}

function listedOf({ target, workload }: TemplateDocument) {
  return {
    target_kind: target.kind,
    load_mode: workload.load_mode,
    concurrent_connections: workload.concurrent_connections,
    target_qps: workload.target_qps,
    duration_seconds: workload.duration_seconds,
    operations: workload.operations.map(({ name }) => name),
  };
}

async function readRow(db: Db, templateId: string) {
  return await db
    .selectFrom("test_templates")
    .selectAll()
    .where("template_id", "=", templateId)
    .executeTakeFirst();
}

async function readTemplateRow(db: Db, templateId: string): Promise<Template | undefined> {
  const row = await readRow(db, templateId);
  if (row === undefined) return undefined;
  const pools = await poolSizes(db, templateId);
  const { config, ...rest } = row;
  const document = parseTemplate(
    JSON.parse(config),
    pools.map(({ pool }) => pool),
  );
  return { ...rest, is_built_in: row.is_built_in === 1, document, pools };
}

async function requireTemplate(db: Db, templateId: string): Promise<Template> {
  const found = await readTemplateRow(db, templateId);
  if (found !== undefined) return found;
  throw new OperatingError("not_found", "never", `there is no template ${templateId}`);
}

async function requireOwn(db: Db, templateId: string): Promise<Template> {
  const found = await requireTemplate(db, templateId);
  if (!found.is_built_in) return found;
  throw new OperatingError(
    "forbidden",
    "never",
    `the template ${found.template_name} comes with the product and stays as it is`,
    { hint: "Copy it, and change the copy." },
  );
}

async function refuseTaken(db: Db, name: string, exceptId = ""): Promise<void> {
  if ((await ownerOf(db, name, exceptId)) === undefined) return;
  throw new OperatingError("already_exists", "never", `there is a template ${name}`);
}

async function ownerOf(db: Db, name: string, exceptId: string): Promise<string | undefined> {
  const found = await db
    .selectFrom("test_templates")
    .select("template_id")
    .where("template_name", "=", name)
    .where("template_id", "<>", exceptId)
    .executeTakeFirst();
  return found?.template_id;
}

async function freeName(db: Db, name: string, suffix = "", exceptId = ""): Promise<string> {
  for (let turn = 1; ; turn += 1) {
    const tried =
      turn === 1 ? name : `${name}${suffix === "" ? ` ${turn}` : suffix.repeat(turn - 1)}`;
    if ((await ownerOf(db, tried, exceptId)) === undefined) return tried;
  }
}

function idOf({ template_id: id }: TemplateDocument): string {
  assert(id !== null, "a template that is kept has an id");
  return id;
}
