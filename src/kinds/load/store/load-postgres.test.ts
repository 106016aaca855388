/** The contract on a real Postgres. */
import { postgresFixture } from "../../../ground/store/testing/fixtures.ts";
import { testLoadStore } from "./load.contract.ts";

testLoadStore(postgresFixture());
