/** The contract on a real Postgres. */
import { postgresFixture } from "../../store/testing/fixtures.ts";
import { testTables } from "./tables.contract.ts";

testTables(postgresFixture());
