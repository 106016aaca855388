/** The contract on a SQLite file, and in memory, as the simulator has it. */
import { memoryFixture, sqliteFixture } from "../../../ground/store/testing/fixtures.ts";
import { testLoadStore } from "./load.contract.ts";

testLoadStore(sqliteFixture());
testLoadStore(memoryFixture(), "SQLite in memory");
