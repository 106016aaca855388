/**
 * What the refreshes are about: `facts`, rows of groups in no order, and `dims`, a row for each
 * group. A change touches a share of the groups by real commits: a third of them lose a row, a
 * third have one updated, a third get a new one, and of a third the row in `dims` is updated.
 */
import type { LakeWorld } from "./lake-world.ts";

export interface ShopSize {
  readonly rows: number;
  readonly groups: number;
}

/**
 * How the changes fall on the groups: each as likely as the next, or the k-th with 1/k, so that
 * some are hit again and again.
 */
export type Spread = "uniform" | "zipfian";

export const definitions = {
  merge: "SELECT g, sum(v) AS total, count(*) AS n, avg(v) AS mean FROM facts GROUP BY g",
  keys: "SELECT g, min(v) AS low, max(v) AS high, count(DISTINCT w) AS kinds FROM facts GROUP BY g",
  joined:
    "SELECT f.id, f.v * d.weight AS weighed, d.region FROM facts AS f JOIN dims AS d ON f.g = d.g",
  windowed:
    "SELECT id, g, v, row_number() OVER (PARTITION BY g ORDER BY id) AS place, sum(v) OVER (PARTITION BY g) AS total FROM facts",
  filtered: "SELECT id, v * 2 AS doubled, w FROM facts WHERE v >= 500",
} as const;

export type Shape = keyof typeof definitions;

export async function fillShop(world: LakeWorld, { rows, groups }: ShopSize): Promise<void> {
  await world.sql("CREATE TABLE facts (id BIGINT, g BIGINT, v BIGINT, w INTEGER)");
  await world.sql(
    `INSERT INTO facts SELECT i, (hash(i) % ${groups})::BIGINT, (hash(i + 1) % 1000)::BIGINT, (hash(i + 2) % 100)::INTEGER FROM range(${rows}) AS r(i)`,
  );
  await world.sql("CREATE TABLE dims (g BIGINT, weight BIGINT, region VARCHAR)");
  await world.sql(
    `INSERT INTO dims SELECT i, i % 17, 'region ' || (i % 50) FROM range(${groups}) AS r(i)`,
  );
  await world.sql("CREATE TABLE picked (g BIGINT, part BIGINT)");
}

export class ShopChanges {
  readonly #world: LakeWorld;
  readonly #size: ShopSize;
  #round = 0;
  #nextId: number;

  constructor(world: LakeWorld, size: ShopSize) {
    this.#world = world;
    this.#size = size;
    this.#nextId = size.rows;
  }

  /** As many changes as `share` of the groups; how many groups they fell on. */
  async make(share: number, spread: Spread): Promise<number> {
    this.#round += 1;
    const { groups } = this.#size;
    const draws = Math.max(3, Math.round(groups * share));
    const world = this.#world;
    const random = `(hash(i, ${this.#round}) / 18446744073709551616.0)`;
    // The hot groups are scattered over the numbers, and are others in every round.
    const zipfian = `(floor(pow(${groups}, ${random}))::BIGINT * 7919 + ${this.#round * 104_729}) % ${groups}`;
    const stride = Math.floor(groups / draws);
    // Every `stride`-th group is one that no other change of this round falls on.
    const uniform = `(i * ${stride} + ${this.#round}) % ${groups}`;
    const group = spread === "uniform" ? uniform : zipfian;
    await world.sql("DELETE FROM picked");
    await world.sql(`INSERT INTO picked SELECT ${group}, i % 3 FROM range(${draws}) AS r(i)`);
    const firstOf = (part: number): string =>
      `SELECT min(f.id) FROM facts AS f JOIN picked AS p ON f.g = p.g WHERE p.part = ${part} GROUP BY f.g`;
    await world.sql(`DELETE FROM facts WHERE id IN (${firstOf(0)})`);
    await world.sql(`UPDATE facts SET v = v + 1, w = w + 1 WHERE id IN (${firstOf(1)})`);
    await world.sql(
      `INSERT INTO facts SELECT ${this.#nextId} + row_number() OVER (), g, g % 1000, g % 100 FROM picked WHERE part = 2`,
    );
    await world.sql(
      "UPDATE dims SET weight = weight + 1 WHERE g IN (SELECT g FROM picked WHERE part = 1)",
    );
    this.#nextId += draws;
    const [row] = await world.sql("SELECT count(DISTINCT g) FROM picked");
    return Number(row?.[0]);
  }
}
