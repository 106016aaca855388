/** The contracts of the catalog on a real Postgres. */
import { postgresFixture } from "../../../../ground/store/testing/fixtures.ts";
import { testMovedRows } from "./move-rows.contract.ts";
import { testPlannedRequests } from "./planned-requests.contract.ts";
import { testRaces } from "./races.contract.ts";
import { testReplacements } from "./replacements.contract.ts";
import { testRequests } from "./requests.contract.ts";
import { testSavepoints } from "./savepoints.contract.ts";
import { testSchema } from "./schema.contract.ts";

const fixture = postgresFixture();
testMovedRows(fixture);
testRequests(fixture);
testReplacements(fixture);
testPlannedRequests(fixture);
testRaces(fixture);
testSavepoints(fixture);
testSchema(fixture);
