/** The contract on a SQLite file, and in memory, as the simulator has it. */
import { memoryFixture, sqliteFixture } from "../../../ground/store/testing/fixtures.ts";
import { testTables } from "./tables.contract.ts";

testTables(sqliteFixture());
testTables(memoryFixture(), "SQLite in memory");
