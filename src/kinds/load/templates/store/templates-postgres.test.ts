/** The contract on a real Postgres. */
import { postgresFixture } from "../../../../ground/store/testing/fixtures.ts";
import { testTemplates } from "./templates.contract.ts";

testTemplates(postgresFixture());
