import { createHash } from "node:crypto";
import { AwsV4Signer } from "aws4fetch";
import { expect, test } from "vitest";

/** From the page "Authenticating Requests: Using the Authorization Header (AWS Signature Version 4)" of the S3 API. */
test("the signature of AWS's example for putting an object is the published one", async () => {
  const signer = new AwsV4Signer({
    method: "PUT",
    url: "https://examplebucket.s3.amazonaws.com/test$file.text",
    headers: {
      Date: "Fri, 24 May 2013 00:00:00 GMT",
      "X-Amz-Storage-Class": "REDUCED_REDUNDANCY",
      "X-Amz-Content-Sha256": createHash("sha256").update("Welcome to Amazon S3.").digest("hex"),
    },
    accessKeyId: "AKIAIOSFODNN7EXAMPLE",
    secretAccessKey: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    service: "s3",
    region: "us-east-1",
    datetime: "20130524T000000Z",
  });
  const { headers } = await signer.sign();
  expect(headers.get("authorization")).toBe(
    "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, " +
      "SignedHeaders=date;host;x-amz-content-sha256;x-amz-date;x-amz-storage-class, " +
      "Signature=98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd",
  );
});
