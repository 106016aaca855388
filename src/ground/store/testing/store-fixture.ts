/** What the contract suite needs to test a store on a database. */
import type { Store } from "../core/store.ts";

export interface StoreFixture {
  readonly dialect: Store["dialect"];
  /** Whether other processes can reach its stores and set them up. */
  readonly isShared: boolean;
  /** A new, empty place for a store. */
  createPlace(): Promise<StorePlace>;
  /** A new place with today's schema, if there is a faster way than setting it up. */
  createStore?(): Promise<StorePlace>;
}

/** The test, or the file of tests (`{ after }` of node:test), after which it ends. */
export interface Ending {
  after(end: () => unknown): void;
}

export interface OpenOptions {
  readonly changesKept?: number;
  readonly waitMsMax?: number;
  readonly schemaDir?: string;
}

export interface StorePlace {
  setup(options?: OpenOptions): Promise<{ readonly from: number; readonly to: number }>;
  open(options?: OpenOptions): Promise<Store>;
  /** The URL for another process, as `parseStoreUrl` reads it. */
  readonly url: string;
}

/** A place with today's schema, and a store on it. Both are removed when the test ends. */
export async function openFresh(
  fixture: StoreFixture,
  test: Ending,
  options: OpenOptions = {},
): Promise<{ readonly store: Store; readonly place: StorePlace }> {
  const place = await createStore(fixture, options);
  return { place, store: await openOn(place, test, options) };
}

/** One more store on a place, as another process would have one. */
export async function openOn(
  place: StorePlace,
  test: Ending,
  options: OpenOptions = {},
): Promise<Store> {
  const store = await place.open(options);
  test.after(() => store.close());
  return store;
}

async function createStore(fixture: StoreFixture, options: OpenOptions): Promise<StorePlace> {
  if (fixture.createStore !== undefined && options.schemaDir === undefined) {
    return await fixture.createStore();
  }
  const place = await fixture.createPlace();
  await place.setup(options);
  return place;
}
