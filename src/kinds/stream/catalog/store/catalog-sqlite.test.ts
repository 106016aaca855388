/** The contracts of the catalog on a SQLite file. */
import { sqliteFixture } from "../../../../ground/store/testing/fixtures.ts";
import { testMovedRows } from "./move-rows.contract.ts";

testMovedRows(sqliteFixture());
