/** The contract of every store. It runs on a SQLite file, on SQLite in memory and on Postgres. */
import { describe } from "node:test";
import type { StoreFixture } from "../testing/store-fixture.ts";
import { testCatalog } from "./catalog.contract.ts";
import { testLease } from "./lease.contract.ts";
import { testProcesses } from "./processes.contract.ts";
import { testSetup } from "./setup.contract.ts";
import { testTransactions } from "./transaction.contract.ts";
import { testWatch } from "./watch.contract.ts";

export function testStore(fixture: StoreFixture, name: string = fixture.dialect): void {
  describe(`store on ${name}`, { concurrency: 3 }, () => {
    testTransactions(fixture);
    testCatalog(fixture);
    testWatch(fixture);
    testLease(fixture);
    if (fixture.isShared) {
      testSetup(fixture);
      testProcesses(fixture);
    }
  });
}
