// The calls of minio-go's own functional tests about bucket notifications, against BUCKETCAST_URL.
//
//	minio-go BUCKET ARN    set, get and remove the configuration; a line for each
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"strings"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/minio/minio-go/v7/pkg/notification"
)

func main() {
	bucket, text := os.Args[1], os.Args[2]
	keys := credentials.NewStaticV4(os.Getenv("BUCKETCAST_ACCESS_KEY"), os.Getenv("BUCKETCAST_SECRET_KEY"), "")
	client, err := minio.New(strings.TrimPrefix(os.Getenv("BUCKETCAST_URL"), "http://"), &minio.Options{Creds: keys})
	check(err)
	ctx := context.Background()

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
