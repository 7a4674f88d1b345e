// The calls of minio-go's own functional tests about bucket notifications, against BUCKETCAST_URL.
//
//	minio-go BUCKET ARN       set, get and remove the configuration; a line for each
//	minio-go listen BUCKET N  the first N events of *.jpg below photos/ ("" is all buckets); a line for each
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"strconv"
	"strings"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/minio/minio-go/v7/pkg/notification"
)

func main() {
	keys := credentials.NewStaticV4(os.Getenv("BUCKETCAST_ACCESS_KEY"), os.Getenv("BUCKETCAST_SECRET_KEY"), "")
	client, err := minio.New(strings.TrimPrefix(os.Getenv("BUCKETCAST_URL"), "http://"), &minio.Options{Creds: keys})
	check(err)
	ctx := context.Background()
	if os.Args[1] == "listen" {
		listen(ctx, client, os.Args[2], os.Args[3])
		return
	}
	bucket, text := os.Args[1], os.Args[2]

	arn, err := notification.NewArnFromString(text)
	check(err)
	queue := notification.NewConfig(arn)
	queue.AddEvents(notification.ObjectCreatedAll, notification.ObjectRemovedAll)
	queue.AddFilterPrefix("photos/")
	queue.AddFilterSuffix(".jpg")
	config := notification.Configuration{}
	if !config.AddQueue(queue) {
		log.Fatal("the configuration is refused by minio-go itself")
	}
	check(client.SetBucketNotification(ctx, bucket, config))
	show(client, bucket)
	check(client.RemoveAllBucketNotification(ctx, bucket))
	show(client, bucket)
}

func listen(ctx context.Context, client *minio.Client, bucket, count string) {
	left, err := strconv.Atoi(count)
	check(err)
	events := []string{"s3:ObjectCreated:*", "s3:ObjectRemoved:*"}
	told := client.ListenBucketNotification(ctx, bucket, "photos/", ".jpg", events)
	if bucket == "" {
		told = client.ListenNotification(ctx, "", "", append(events, "s3:BucketCreated:*", "s3:BucketRemoved:*"))
	}
	for info := range told {
		check(info.Err)
		for _, record := range info.Records {
			fmt.Println(record.EventName, record.S3.Bucket.Name, record.S3.Object.Key)
			if left--; left == 0 {
				return
			}
		}
	}
}

func show(client *minio.Client, bucket string) {
	found, err := client.GetBucketNotification(context.Background(), bucket)
	check(err)
	fmt.Print(len(found.QueueConfigs), " queues")
	for _, each := range found.QueueConfigs {
		fmt.Print(" ", each.Queue, " ", each.Events)
		for _, rule := range each.Filter.S3Key.FilterRules {
			fmt.Print(" ", rule.Name, "=", rule.Value)
		}
	}
	fmt.Println()
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
