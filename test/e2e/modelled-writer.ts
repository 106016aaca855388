/**
 * A client that changes rows of a table, one statement after the other, and knows what has to be
 * there. Its rows are its own; others change theirs in the same table meanwhile.
 * An acknowledged statement took effect exactly once. A statement whose answer was an error, or was
 * lost, took effect as a whole or not at all: the client looks, and goes on from there.
 */
import assert from "node:assert/strict";
import { createPrng, type Prng } from "../../src/ground/kernel/prng.ts";
import { getJson, type Rows, rowsOf, waitFor } from "./harness.ts";

interface Row {
  readonly kind: number;
  readonly amount: number;
}

type Model = ReadonlyMap<number, Row>;

interface Step {
  readonly verb: "INSERT" | "UPDATE" | "DELETE" | "COPY";
  readonly sql: string;
  /** Of a COPY. */
  readonly csv?: string;
  readonly after: Model;
}

export const kinds = 7;
const rowsMax = 1_500;
/**
 * Later than any statement's own deadline: who leaves before his answer cannot know whether the
 * statement still goes through.
 */
const answerMsMax = 180_000;

/** The table that writers share. */
export const eventsSql =
  "CREATE TABLE events (id BIGINT, owner INTEGER, kind INTEGER, amount BIGINT, note VARCHAR)";

export class ModelledWriter {
  /** By verb. */
  readonly acknowledged = new Map<string, number>();
  unclear = 0;
  readonly #owner: number;
  readonly #url: () => string;
  readonly #prng: Prng;
  #rows: Model = new Map();
  #nextId = 0;

  constructor(owner: number, url: () => string, seed: string) {
    this.#owner = owner;
    this.#url = url;
    this.#prng = createPrng(`${seed}-writer-${owner}`);
  }

  /** Until `signal` aborts, and the statement under way has ended. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) await this.#perform(this.#plan());
  }

  /** What is there is what was acknowledged. */
  async check(): Promise<void> {
    assert.deepEqual(await this.#read(), expected(this.#rows), `rows of writer ${this.#owner}`);
  }

  async #perform(step: Step): Promise<void> {
    try {
      await this.#send(step);
      this.acknowledged.set(step.verb, (this.acknowledged.get(step.verb) ?? 0) + 1);
      this.#rows = step.after;
    } catch {
      this.unclear += 1;
      const found = JSON.stringify(await this.#read());
      if (found === JSON.stringify(expected(step.after))) this.#rows = step.after;
      // It is there as a whole or not at all.
      else assert.equal(found, JSON.stringify(expected(this.#rows)), `half of ${step.sql}`);
    }
  }

  async #send({ sql, csv }: Step): Promise<void> {
    const body = { sql, ...(csv === undefined ? {} : { upload_id: await this.#upload(csv) }) };
    await rowsOf(this.#url(), sql, { body, signal: AbortSignal.timeout(answerMsMax) });
  }

  async #upload(csv: string): Promise<string> {
    const base = `${this.#url()}/api/v1/uploads`;
    const { upload_id: id } = await getJson<{ upload_id: string }>(base, {
      method: "POST",
      body: {},
    });
    const response = await fetch(`${base}/${id}/chunks?offset=0`, {
      method: "POST",
      headers: { "content-type": "application/octet-stream" },
      body: csv,
    });
    assert.equal(response.status, 200);
    return id;
  }

  #plan(): Step {
    const isFull = this.#rows.size > rowsMax;
    switch (isFull ? 5 : this.#prng.below(6)) {
      case 0:
      case 1:
        return this.#insert();
      case 2:
        return this.#copy();
      case 3:
      case 4:
        return this.#update();
      default:
        return this.#delete(isFull ? 3 : 11);
    }
  }

  #insert(): Step {
    const [from, to] = this.#newIds();
    const sql = `INSERT INTO events SELECT range, ${this.#owner}, range % ${kinds}, range % 100, 'inserted' FROM range(${from}, ${to})`;
    return { verb: "INSERT", sql, after: this.#with(from, to) };
  }

  #copy(): Step {
    const [from, to] = this.#newIds();
    const lines = ["id,owner,kind,amount,note"];
    for (let id = from; id < to; id += 1) {
      lines.push(`${id},${this.#owner},${id % kinds},${id % 100},copied`);
    }
    const csv = `${lines.join("\n")}\n`;
    return { verb: "COPY", sql: "COPY events FROM 'events.csv'", csv, after: this.#with(from, to) };
  }

  #update(): Step {
    const [modulus, rest] = this.#part(9);
    const sql = `UPDATE events SET amount = amount + 1, kind = (kind + 1) % ${kinds} WHERE owner = ${this.#owner} AND id % ${modulus} = ${rest}`;
    const after = new Map(
      [...this.#rows].map(([id, row]) => [
        id,
        id % modulus === rest ? { amount: row.amount + 1, kind: (row.kind + 1) % kinds } : row,
      ]),
    );
    return { verb: "UPDATE", sql, after };
  }

  #delete(modulusMax: number): Step {
    const [modulus, rest] = this.#part(modulusMax);
    const sql = `DELETE FROM events WHERE owner = ${this.#owner} AND id % ${modulus} = ${rest}`;
    const after = new Map([...this.#rows].filter(([id]) => id % modulus !== rest));
    return { verb: "DELETE", sql, after };
  }

  #newIds(): readonly [from: number, to: number] {
    const from = this.#nextId;
    this.#nextId += 20 + this.#prng.below(200);
    return [from, this.#nextId];
  }

  #with(from: number, to: number): Model {
    const after = new Map(this.#rows);
    for (let id = from; id < to; id += 1) after.set(id, { kind: id % kinds, amount: id % 100 });
    return after;
  }

  #part(modulusMax: number): readonly [modulus: number, rest: number] {
    const modulus = 2 + this.#prng.below(modulusMax - 1);
    return [modulus, this.#prng.below(modulus)];
  }

  /** However long it takes until somebody answers. */
  async #read(): Promise<Rows> {
    const sql = `SELECT id, kind, amount FROM events WHERE owner = ${this.#owner} ORDER BY id`;
    let last: unknown;
    return await waitFor(
      `rows of writer ${this.#owner}`,
      () =>
        rowsOf(this.#url(), sql, { body: { sql }, signal: AbortSignal.timeout(answerMsMax) }).catch(
          (thrown: unknown) => {
            last = thrown;
            return undefined;
          },
        ),
      240_000,
      () => String(last),
    );
  }
}

function expected(rows: Model): Rows {
  return [...rows].sort(([a], [b]) => a - b).map(([id, row]) => [id, row.kind, row.amount]);
}
