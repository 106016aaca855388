import { postgresFixture } from "../../../ground/store/testing/fixtures.ts";
import { testLakeCatalog } from "./lake-catalog.contract.ts";

testLakeCatalog(postgresFixture());
