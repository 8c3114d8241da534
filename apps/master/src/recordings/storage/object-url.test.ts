import { describe, expect, it } from '@jest/globals'
import { objectUrl } from './object-url.js'

describe('objectUrl', () => {
  it.each([
    ['bucket', '', false, 'eu-west-1', 'https://bucket.s3.eu-west-1.amazonaws.com/room~1/a%20b.mp4'],
    ['bucket/x', '', true, 'eu-west-1', 'https://s3.eu-west-1.amazonaws.com/bucket/room~1/a%20b.mp4'],
    ['bucket', 'https://s3.example', false, '', 'https://bucket.s3.example/room~1/a%20b.mp4'],
    ['bucket', 'http://127.0.0.1:9000', true, '', 'http://127.0.0.1:9000/bucket/room~1/a%20b.mp4'],
  ])('bucket %s at endpoint %j with path style %s in region %j', (bucket, endpoint, isPathStyle, region, url) => {
    const config = {
      SERVICE_PRO_AWS_S3_BUCKET: bucket,
      SERVICE_PRO_AWS_S3_SERVICE_ENDPOINT: endpoint,
      SERVICE_PRO_AWS_S3_WITH_PATH_STYLE_ACCESS: isPathStyle,
      SERVICE_PRO_AWS_REGION: region,
    }
    expect(objectUrl(config, 'room~1/a b.mp4')).toBe(url)
  })
})
