/** The contract on a SQLite file. */
import { sqliteFixture } from "../../../../ground/store/testing/fixtures.ts";
import { testTemplates } from "./templates.contract.ts";

testTemplates(sqliteFixture());
