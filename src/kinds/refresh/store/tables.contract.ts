/** The contract of dynamic tables in the store, for every database. */
import { describe } from "node:test";
import type { StoreFixture } from "../../../ground/store/testing/store-fixture.ts";
import { testClaims } from "./claims.contract.ts";
import { testDefinitions } from "./definitions.contract.ts";
import { testFailures } from "./failures.contract.ts";
import { testSchedule } from "./schedule.contract.ts";
import { testSubtasks } from "./subtasks.contract.ts";

export function testTables(fixture: StoreFixture, name: string = fixture.dialect): void {
  describe(`dynamic tables on ${name}`, { concurrency: 2 }, () => {
    testClaims(fixture);
    testFailures(fixture);
    testDefinitions(fixture);
    testSchedule(fixture);
    testSubtasks(fixture);
  });
}
