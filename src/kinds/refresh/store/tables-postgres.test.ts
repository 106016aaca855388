/** The contract on a real Postgres. */
import { postgresFixture } from "../../../ground/store/testing/fixtures.ts";
import { testTables } from "./tables.contract.ts";

testTables(postgresFixture());
